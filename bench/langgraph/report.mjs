/**
 * What the bench found, as a table, and the bars that it is held to.
 */
import { SAVER_NAMES, TITLES } from './names.mjs'

const COLUMNS = [
  ['stored, MB', ({ closedBytes }) => megabytes(closedBytes)],
  ['of the news', ({ closedBytes }, { closedBytes: least }) => times(closedBytes / least)],
  ['while open', ({ openBytes }, { closedBytes: least }) => times(openBytes / least)],
  ['`put`, ms', ({ putMs }) => number(putMs)],
  ['of raw', ({ putMs }, { putMs: least }) => times(putMs / least)],
  ['resume, ms', ({ firstMs }) => number(firstMs)],
  ['again', ({ resumeMs }) => number(resumeMs)],
  ['step k', ({ stepMs }) => number(stepMs)],
  ['list, ms', ({ listMs }) => number(listMs)],
  ['history, ms', ({ historyMs }) => number(historyMs)],
  ['RSS, MB', ({ historyRss, writeRss }) => megabytes(Math.max(historyRss ?? 0, writeRss ?? 0))],
]

/**
 * @param {ReturnType<typeof import('../machine.mjs').machine>} about
 * @param {readonly {name: string, rows: readonly object[]}[]} found
 */
export function markdown({ machine, node, commit }, found, quick) {
  const lines = [
    `| | ${COLUMNS.map(([heading]) => heading).join(' | ')} |`,
    `|---|${COLUMNS.map(() => '---:').join('|')}|`,
  ]
  for (const { name, rows } of found) {
    const [limit] = rows
    lines.push(`| **${name}: ${TITLES[name]}** |${' |'.repeat(COLUMNS.length)}`)
    for (const row of rows) {
      const cells = COLUMNS.map(([, cellOf]) => cellOf(row, limit))
      lines.push(`| ${SAVER_NAMES[row.kind]} | ${cells.join(' | ')} |`)
    }
  }
  const { cpu, cores, load, system } = machine
  const where = `${cpu}, ${cores} cores at load ${load} each when it began, ${system}, node ${node}, daglog ${commit}`
  const made = `node bench/langgraph/main.mjs${quick ? ' --quick' : ''}`
  return `${lines.join('\n')}\n\nMade by \`${made}\` on ${where}.`
}

function number(value) {
  if (value === undefined) return ''
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(2)))
}

const megabytes = (bytes) => (Number.isFinite(bytes) && bytes > 0 ? number(bytes / 1e6) : '')
const times = (ratio) => (Number.isFinite(ratio) ? `${number(ratio)}x` : '')

/** What the saver promises, each with whether it was kept. */
export function barsOf(found) {
  const bars = []
  for (const { name, rows } of found) {
    const of = (kind) => rows.find((row) => row.kind === kind)
    const [ours, limit, full] = [of('daglog'), of('raw'), of('full')]
    if (ours === undefined) continue
    const bar = (what, value, max) => {
      bars.push({ what: `${name}: ${what} ${number(value)} <= ${max}`, ok: value <= max })
    }
    bar('stored, of the news', ours.closedBytes / limit.closedBytes, name === 'c' ? 3 : 1.3)
    bar('put, of raw', ours.putMs / limit.putMs, 3)
    bar('resume in a fresh process, median, of raw', ours.resumeMs / limit.resumeMs, 3)
    bar('RSS of the history, of one state', ours.historyRss / ours.oneStateRss, 1.5)
    if (name === 'c') bar('history, ms', ours.historyMs, 300)
    if (name === 'a' && full !== undefined) bar('put, of SQLite FULL', ours.putMs / full.putMs, 0.1)
  }
  return bars
}
