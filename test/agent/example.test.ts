/**
 * The report in docs/again.md is one that the example prints.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('docs/again.md shows what examples/again/main.mjs prints', async () => {
  const docs = readFileSync(`${root}/docs/again.md`, 'utf8')
  const report = /<!-- made by [^\n]*\n```\n([\s\S]*?)```/.exec(docs)?.[1] ?? 'nothing'
  const { stdout } = await promisify(execFile)(process.execPath, ['examples/again/main.mjs'], {
    cwd: root,
  })
  expect(stdout).toContain(report)
  expect(stdout).toMatch(/^recorded: small-1/)
  expect(stdout).toMatch(/forked: large-2 .* \(2 steps answered from the parent\)/)
})
