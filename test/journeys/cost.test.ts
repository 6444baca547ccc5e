/**
 * The page docs/cost.md, and the script that prints its tables.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

interface Row {
  readonly name: string
  readonly json: { readonly plain: number; readonly gzipped: number; readonly heap: number }
  readonly daglog: { readonly open: number; readonly ended: number; readonly heap: number }
  /** All states came back as they were, and the store verifies. */
  readonly same: boolean
}

function play(...args: string[]): string {
  const script = join(ROOT, 'examples/cost.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--quick', ...args], {
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  return stdout
}

describe('what 100 steps cost', () => {
  it('is far less than JSON after each step, but for a tiny state', () => {
    const { steps, rows } = JSON.parse(play('--json')) as { steps: number; rows: Row[] }
    const [history, keys, page, tiny] = rows as [Row, Row, Row, Row]
    expect(rows.length).toBe(4)
    expect(rows.every(({ same }) => same)).toBe(true)
    for (const { name, json, daglog } of [history, keys, page]) {
      expect([name, json.plain > json.gzipped]).toEqual([name, true])
      expect([name, json.plain / daglog.open > 3]).toEqual([name, true])
      expect([name, json.gzipped / daglog.ended > 3]).toEqual([name, true])
      expect([name, daglog.ended < daglog.open]).toEqual([name, true])
    }
    // The page itself is there once.
    expect(page.daglog.open).toBeLessThan((page.json.plain / steps) * 2)
    for (const { name, json, daglog } of [keys, page])
      expect([name, daglog.heap * 2 < json.heap]).toEqual([name, true])
    expect(tiny.daglog.ended / steps).toBeLessThan(2000)
    expect(tiny.json.plain).toBeLessThan(tiny.daglog.ended)
  })

  it('stands in docs/cost.md as the script prints it', () => {
    const page = readFileSync(join(ROOT, 'docs/cost.md'), 'utf8')
    const shapeOf = (text: string): string[] =>
      text
        .split('\n')
        .filter((line) => line.startsWith('|'))
        .map((line) => line.replaceAll(/-?\d[\d.,]*( [KM]B|x)?/g, '#'))
    expect(shapeOf(page)).toEqual(shapeOf(play()))
  })

  it('is claimed no better in docs/cost.md than its own numbers say', () => {
    const page = readFileSync(join(ROOT, 'docs/cost.md'), 'utf8')
    const bytes = (cell: string): number => {
      const [, number, unit] = /^([\d.]+) ([KM]B)$/.exec(cell) ?? []
      return Number(number) * (unit === 'MB' ? 1e6 : 1e3)
    }
    const disk = page.split('\n').filter((line) => /^\| [^|]+ \|( [\d.]+ [KM]B \|){4} /.test(line))
    expect(disk.length).toBe(4)
    for (const line of disk) {
      const cells = line.split('|').map((cell) => cell.trim())
      const ratio = bytes(cells[3] as string) / bytes(cells[5] as string)
      expect(Number.parseFloat(cells[6] as string) / ratio).toBeCloseTo(1, 0)
    }
  })
})
