// Columns of the index as typed arrays: dictionary codes for text, doubles for figures. Ten thousand shards are then
// filtered by comparing integers.
//
// In:     {count, columns: {name: [value…] | {values: [distinct…], codes: [code…]}}}; code -1 and null are missing
// Out:    Table
// Errors  IndexError, whose message starts with INDEX-FORMAT

export class IndexError extends Error {}

/** values [distinct], codes [count] with -1 = missing. */
export class Column {
  constructor(values, codes) {
    if (values !== undefined) Object.assign(this, { values, codes });
  }
  at(row) {
    const code = this.codes[row];
    return code < 0 ? null : this.values[code];
  }
  /** The same rows with each distinct value replaced by f(value); null makes it missing. Equal results share a code. */
  map(f) {
    const values = [];
    const seen = new Map();
    const recode = new Int32Array(this.values.length);
    this.values.forEach((value, code) => {
      const mapped = f(value);
      if (mapped === null || mapped === undefined) {
        recode[code] = -1;
        return;
      }
      if (!seen.has(mapped)) {
        seen.set(mapped, values.length);
        values.push(mapped);
      }
      recode[code] = seen.get(mapped);
    });
    const codes = new Int32Array(this.codes.length);
    for (let i = 0; i < codes.length; ++i) codes[i] = this.codes[i] < 0 ? -1 : recode[this.codes[i]];
    return new Column(values, codes);
  }
}

// A plain list: its codes are made when somebody compares them, which most columns never see.
class PlainColumn extends Column {
  constructor(list) {
    super();
    this.list = list;
  }
  at(row) {
    return this.list[row] ?? null;
  }
  coded() {
    return (this.made ??= dictionary(this.list.length, (row) => this.list[row]));
  }
  get values() {
    return this.coded().values;
  }
  get codes() {
    return this.coded().codes;
  }
}

/** A column made of f(row) for each row; null and undefined are missing. */
export function dictionary(count, f) {
  const values = [];
  const seen = new Map();
  const codes = new Int32Array(count);
  for (let row = 0; row < count; ++row) {
    const value = f(row);
    if (value === null || value === undefined) {
      codes[row] = -1;
      continue;
    }
    let code = seen.get(value);
    if (code === undefined) {
      code = values.length;
      seen.set(value, code);
      values.push(value);
    }
    codes[row] = code;
  }
  return new Column(values, codes);
}

function decode(name, column, count) {
  if (Array.isArray(column)) {
    if (column.length !== count) {
      throw new IndexError(`INDEX-FORMAT: column ${name} has ${column.length} values, expected ${count}`);
    }
    return new PlainColumn(column);
  }
  if (!column || !Array.isArray(column.values) || !Array.isArray(column.codes)) {
    throw new IndexError(`INDEX-FORMAT: column ${name} is neither a list nor {values, codes}`);
  }
  if (column.codes.length !== count) {
    throw new IndexError(`INDEX-FORMAT: column ${name} has ${column.codes.length} codes, expected ${count}`);
  }
  const codes = Int32Array.from(column.codes);
  for (const code of codes) {
    if (code < -1 || code >= column.values.length) {
      throw new IndexError(`INDEX-FORMAT: column ${name} has code ${code} for ${column.values.length} values`);
    }
  }
  return new Column(column.values, codes);
}

export class Table {
  constructor(block, what) {
    if (!block || typeof block.columns !== "object" || !Number.isInteger(block.count) || block.count < 0) {
      throw new IndexError(`INDEX-FORMAT: ${what} has no count and columns`);
    }
    this.count = block.count;
    this.columns = new Map();
    this.block = block;
    this.empty = new Column([], new Int32Array(this.count).fill(-1));
  }
  /** The named column; one that is missing everywhere when the index left it out. */
  column(name) {
    let found = this.columns.get(name);
    if (!found) {
      const source = this.block.columns[name];
      found = source === undefined || source === null ? this.empty : decode(name, source, this.count);
      this.columns.set(name, found);
    }
    return found;
  }
  has(name) {
    return this.block.columns[name] !== undefined;
  }
  at(name, row) {
    return this.column(name).at(row);
  }
  /** Doubles, NaN where there is none. */
  numbers(name) {
    const out = new Float64Array(this.count).fill(NaN);
    const source = this.block.columns[name];
    if (Array.isArray(source) && source.length === this.count) {
      for (let row = 0; row < this.count; ++row) if (typeof source[row] === "number") out[row] = source[row];
      return out;
    }
    const column = this.column(name);
    for (let row = 0; row < this.count; ++row) {
      const value = column.at(row);
      if (typeof value === "number") out[row] = value;
    }
    return out;
  }
}
