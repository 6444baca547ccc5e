/**
 * How savers and scenarios are called in what people read.
 */
export const SAVER_NAMES = {
  raw: 'the news alone, each step synced',
  daglog: 'DaglogSaver',
  sqlite: 'SQLite, synchronous=NORMAL',
  full: 'SQLite, synchronous=FULL',
  delta: 'SQLite, NORMAL, with DeltaChannel',
  postgres: 'Postgres',
}

export const TITLES = {
  a: '100 steps to 500 KB',
  b: 'a 10 MB result carried for 20 steps',
  c: '1,000 steps of 200 bytes',
  d: '20 threads with the same 10 MB page',
}
