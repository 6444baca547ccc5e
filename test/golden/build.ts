/**
 * Makes the golden stores: `node test/golden/build.mjs` makes those that are not there, and never touches
 * one that is; `--check` makes all of them anew, elsewhere, and says which bytes differ.
 * A golden store stays as the release that wrote it left it. Where a later daglog writes other bytes, the
 * check says so and both are right; only packs may differ at any time, since deflate has no one output.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { directory } from '../../src/backend/fs.js'
import { damaged } from './damaged.js'
import { seedChance } from './seed.js'
import { whole } from './whole.js'
import { type Golden, Workshop } from './workshop.js'

const HERE = join(process.cwd(), 'test/golden')

const goldens: readonly Golden[] = [...whole, ...damaged]

async function build(golden: Golden, target: string): Promise<void> {
  seedChance(golden.name)
  const shop = new Workshop(target)
  try {
    await golden.build(shop)
    const expected = JSON.stringify(shop.expected(golden), null, 2)
    writeFileSync(join(target, 'expected.json'), `${expected}\n`)
  } finally {
    await shop.close()
  }
}

export async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--check')) return check()
  for (const golden of goldens) {
    const target = join(HERE, golden.name)
    if (existsSync(target)) continue
    const draft = `${target}.draft`
    rmSync(draft, { recursive: true, force: true })
    await build(golden, draft)
    renameSync(draft, target)
    console.log(`made ${golden.name}`)
  }
  return 0
}

async function check(): Promise<number> {
  const scratch = mkdtempSync(join(tmpdir(), 'golden-check-'))
  let differing = 0
  try {
    for (const golden of goldens) {
      const made = join(scratch, golden.name)
      await build(golden, made)
      const found = await differences(made, join(HERE, golden.name))
      console.log(`${found.length === 0 ? 'same   ' : 'differs'} ${golden.name} ${found.join(' ')}`)
      differing += found.length
    }
  } finally {
    rmSync(scratch, { recursive: true })
  }
  return differing === 0 ? 0 : 1
}

/** Files that differ; packs by what they hold. */
async function differences(made: string, kept: string): Promise<string[]> {
  const names = new Set([...filesIn(made), ...filesIn(kept)])
  const found = [...names].filter((name) => {
    const [left, right] = [join(made, name), join(kept, name)]
    if (name.startsWith('packs')) return false
    return !existsSync(left) || !existsSync(right) || !readFileSync(left).equals(readFileSync(right))
  })
  if ((await packed(made)) !== (await packed(kept))) found.push('packs/')
  return found
}

function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return []
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
}

async function packed(dir: string): Promise<string> {
  const backend = directory(dir)
  const rows: string[] = []
  try {
    for await (const { hash, kind, bytes } of backend.listObjects(undefined))
      rows.push(`${hash} ${kind} ${bytes}`)
  } catch (error) {
    rows.push((error as { code: string }).code)
  }
  await backend.close()
  return rows.sort().join('\n')
}
