/**
 * Many records of like shape, written column by column: member names stand once instead of once a
 * record, which makes a snapshot of a hundred thousand of them small and quick to parse.
 * Any JSON goes through unchanged; records of other shapes are kept in groups of their own.
 */

/** What `packColumns` made, as JSON carries it. */
export type Columns =
  /** Values as they are. */
  | { readonly is: 'values'; readonly values: readonly unknown[] }
  /** The same value, over and over. */
  | { readonly is: 'same'; readonly count: number; readonly value: unknown }
  /** Records with these members, in this order. */
  | ({ readonly is: 'records'; readonly count: number; readonly names: readonly string[] } & {
      readonly columns: readonly Columns[]
    })
  /** Values of several kinds: of which group each is, and the groups. */
  | { readonly is: 'groups'; readonly of: readonly number[]; readonly groups: readonly Columns[] }

/** More shapes than this are not worth taking apart. */
const SHAPES_MAX = 64

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Members that JSON leaves out are no part of the shape. */
function namesOf(record: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(record).filter((name) => record[name] !== undefined)
}

/** @param values JSON values; a record's member that is undefined is left out, as JSON does. */
export function packColumns(values: readonly unknown[]): Columns {
  const shapes = new Map<string, { names: readonly string[]; rows: unknown[]; at: number }>()
  const of: number[] = []
  for (const value of values) {
    const names = isRecord(value) ? namesOf(value) : []
    const key = isRecord(value) ? JSON.stringify(names) : ''
    let shape = shapes.get(key)
    if (shape === undefined) {
      if (shapes.size === SHAPES_MAX) return { is: 'values', values }
      shape = { names, rows: [], at: shapes.size }
      shapes.set(key, shape)
    }
    shape.rows.push(value)
    of.push(shape.at)
  }
  const groups = Array.from(shapes, ([key, { names, rows }]) =>
    key === '' ? packPlain(rows) : packRecords(names, rows as Readonly<Record<string, unknown>>[]),
  )
  const [only] = groups
  if (only === undefined) return { is: 'values', values: [] }
  return groups.length === 1 ? only : { is: 'groups', of, groups }
}

function packPlain(values: readonly unknown[]): Columns {
  const [value] = values
  const same = typeof value !== 'object' && values.length > 1 && values.every((v) => v === value)
  return same ? { is: 'same', count: values.length, value } : { is: 'values', values }
}

function packRecords(
  names: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): Columns {
  const columns = names.map((name) => packColumns(rows.map((row) => row[name])))
  return { is: 'records', count: rows.length, names, columns }
}

/** @returns the values that were packed, equal to what JSON would have given back. */
export function unpackColumns(packed: Columns): readonly unknown[] {
  switch (packed.is) {
    case 'values':
      return packed.values
    case 'same':
      return new Array<unknown>(packed.count).fill(packed.value)
    case 'records':
      return unpackRecords(packed)
    case 'groups': {
      const groups = packed.groups.map((group) => unpackColumns(group)[Symbol.iterator]())
      return packed.of.map((at) => groups[at]?.next().value)
    }
  }
}

function unpackRecords(packed: Extract<Columns, { is: 'records' }>): readonly unknown[] {
  const columns = packed.columns.map(unpackColumns)
  return Array.from({ length: packed.count }, (_, row) => {
    const record: Record<string, unknown> = {}
    packed.names.forEach((name, column) => {
      const value = columns[column]?.[row]
      // Assigned, this name would set the prototype instead of a member.
      if (name === '__proto__')
        Object.defineProperty(record, name, {
          value,
          enumerable: true,
          writable: true,
          configurable: true,
        })
      else record[name] = value
    })
    return record
  })
}
