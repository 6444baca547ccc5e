/**
 * The rows of the bench as text, and whether each is within its bars.
 */

/**
 * @typedef {object} Row
 * @property {string} what
 * @property {number} median Of the rounds.
 * @property {string} unit
 * @property {{value: number, unit: string}} [p99]
 * @property {{what: string, median: number, ratio: number}} [limit] Measured in the same rounds. `ratio` says
 *   how much of its rate we reach, or how many times its time we take.
 * @property {number} [rssBytes] The most memory that a process had.
 * @property {{lists: number, stats: number, opens: number, bytesRead: number}} [disk] What was asked of the disk.
 * @property {Bars} [bars]
 *
 * @typedef {{ratioMin?: number, ratioMax?: number, medianMin?: number, medianMax?: number, rssMax?: number}} Bars
 */

const HEADINGS = ['', 'median', 'p99', 'against', 'bar']

/**
 * @param {ReturnType<typeof import('./machine.mjs').machine>} about
 * @param {readonly {name: string, rows: readonly Row[]}[]} topics
 */
export function table({ machine, node, commit }, topics) {
  const lines = [HEADINGS]
  for (const { name, rows } of topics) {
    lines.push([name])
    for (const row of rows) lines.push(cellsOf(row))
  }
  const widths = HEADINGS.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  )
  const text = lines.map((line) =>
    line
      .map((cell, column) =>
        NUMERIC.has(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
      )
      .join('  ')
      .trimEnd(),
  )
  const { cpu, cores, load, system } = machine
  return [
    ...text,
    '',
    `${cpu}, ${cores} cores at load ${load} each, ${system}, node ${node}, daglog ${commit}`,
  ].join('\n')
}

const NUMERIC = new Set([1, 2])

/** @param {Row} row */
function cellsOf(row) {
  const { what, median, unit, p99, bars = {} } = row
  const words = Object.keys(bars).map((name) => BARS[name].words(bars[name], row))
  const verdict = words.length === 0 ? '' : isWithin(row) ? '  ok' : '  MISSED'
  return [
    `  ${what}`,
    `${quantity(median)} ${unit}`,
    p99 === undefined ? '' : `${quantity(p99.value)} ${p99.unit}`,
    against(row),
    `${words.join(', ')}${verdict}`,
  ]
}

/**
 * Whether a row keeps all of its bars.
 * @param {Row} row
 */
export function isWithin(row) {
  return Object.entries(row.bars ?? {}).every(([name, bar]) => BARS[name].meets(row, bar))
}

/** @param {Row} row */
function against({ limit, rssBytes, disk }) {
  if (limit !== undefined) return `${limit.ratio.toFixed(2)} of ${limit.what}`
  if (rssBytes === undefined || disk === undefined) return ''
  const { lists, stats, opens, bytesRead } = disk
  return `${megabytes(rssBytes)} of memory; ${quantity(lists)} lists, ${quantity(stats)} stats, ${quantity(opens)} opens, ${megabytes(bytesRead)} read`
}

/** What each bar asks, and how it is put. */
const BARS = {
  ratioMin: { meets: ({ limit }, bar) => limit.ratio >= bar, words: (bar) => `>= ${bar}` },
  ratioMax: { meets: ({ limit }, bar) => limit.ratio <= bar, words: (bar) => `<= ${bar}` },
  medianMin: {
    meets: ({ median }, bar) => median >= bar,
    words: (bar, { unit }) => `>= ${quantity(bar)} ${unit}`,
  },
  medianMax: {
    meets: ({ median }, bar) => median <= bar,
    words: (bar, { unit }) => `<= ${quantity(bar)} ${unit}`,
  },
  rssMax: { meets: ({ rssBytes }, bar) => rssBytes <= bar, words: (bar) => `<= ${megabytes(bar)}` },
}

/** @param {number} bytes */
function megabytes(bytes) {
  return `${quantity(bytes / 1e6)} MB`
}

/** Three digits that matter. */
function quantity(value) {
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US')
  return value >= 10 ? value.toFixed(1) : String(Number(value.toPrecision(2)))
}
