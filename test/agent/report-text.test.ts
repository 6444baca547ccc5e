import { expect, it } from 'vitest'
import { reportText } from '../../src/agent/report-text.js'
import type { Divergence } from '../../src/fold/divergence.js'

/** Clears the screen, sets a title, forges a line, turns the text around. */
const HOSTILE = '\u001b[2J\u001b]0;title\u0007\nsame  forged\r\u202e\u009b1m'

it('obeys nothing that a name, a path, a site, a pointer or a note has for a terminal', () => {
  const found: Divergence = {
    kind: 'input-changed',
    path: HOSTILE,
    tainted: false,
    recorded: { run: HOSTILE, seq: 3, name: HOSTILE, site: HOSTILE },
    now: { run: HOSTILE, name: HOSTILE, site: HOSTILE },
    changes: [{ op: 'replace', pointer: `/${HOSTILE}`, left: HOSTILE, right: HOSTILE }],
    note: HOSTILE,
  }
  const text = reportText({
    ok: false,
    complete: true,
    first: found,
    divergences: [found, { ...found, tainted: true }],
    more: 0,
    notes: [found],
    uncovered: [{ api: 'spawn', target: HOSTILE, count: 1 }],
    answered: 1,
    source: 'r1',
    id: 'r2',
  })
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  expect(text).toContain('\\u001b[2J')
  // One line each, whatever the content says: the forged verdict is inside another line.
  expect(text.split('\n').filter((line) => line.startsWith('same'))).toEqual([])
})
