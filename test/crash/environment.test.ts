/**
 * A real full disk, a real lack of file handles, a real paused process.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DaglogError, openStore } from '../../src/index.js'
import { logPath, temporaryDir, temporaryStore } from '../store/temporary.js'
import { smallDisk } from './small-disk.js'

const INDEX = fileURLToPath(new URL('../../dist/index.js', import.meta.url))

describe('a full disk', () => {
  it('T6, T7: refuses the append, keeps everything acknowledged, and goes on once there is space', async (context) => {
    const disk = smallDisk(512 * 1024)
    if (disk === undefined) {
      console.log('skipped: a tmpfs cannot be mounted here (needs root)')
      return context.skip()
    }
    const { store, dir } = await temporaryStore(join(disk, 'store'))
    let acknowledged = 0
    let failure: unknown
    const run = await store.run('r')
    for (let n = 0; failure === undefined && n < 2000; n += 1) {
      try {
        // Small ones and ones out of line, so that either file may be the one that does not fit.
        await run.append('note', { n, text: 'x'.repeat(n % 3 === 0 ? 6000 : 900) + n })
        acknowledged += 1
      } catch (error) {
        failure = error
      }
    }
    expect(failure).toBeInstanceOf(DaglogError)
    expect(failure).toMatchObject({ code: 'WRITE_FAILED', kind: 'environment' })
    expect(String(failure)).toMatch(/ENOSPC/)
    await expect(run.append('note', 'more')).rejects.toMatchObject({ code: 'WRITE_FAILED' })
    await run.close().catch(() => {})
    const seen = await countNotes(dir)
    expect(seen).toBeGreaterThanOrEqual(acknowledged)

    execFileSync('mount', ['-o', 'remount,size=2m', disk])
    const again = await store.openRun('r')
    await again.append('note', { n: 'after' })
    await again.close()
    const [report] = (await store.verify('r')).runs
    expect(report).toMatchObject({ ok: true, incomplete: [] })
    expect(await countNotes(dir)).toBeGreaterThan(acknowledged)
    await store.close()
  })

  it('is told by an export to a full device', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.append('note', 'x'.repeat(3000))
    await run.close()
    await store.close()
    const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
    const shell = `exec "${process.execPath}" "${cli}" --store "${dir}" events r --jsonl > /dev/full`
    const result = spawnSync('sh', ['-c', shell], { encoding: 'utf8' })
    expect(result.status).toBe(1)
    expect(result.stderr).toMatch(/ENOSPC/)
  })
})

async function countNotes(dir: string): Promise<number> {
  const { store } = await temporaryStore(dir)
  let count = 0
  for await (const event of (await store.inspectRun('r')).events({ types: ['note'] })) {
    if (event.type === 'note') count += 1
  }
  await store.close()
  return count
}

describe('too few file handles', () => {
  it('fails with words, and the same call works when there are some again', async () => {
    const dir = join(temporaryDir(), 'store')
    const program = `
      import { openStore } from ${JSON.stringify(INDEX)}
      const store = await openStore(${JSON.stringify(dir)}, { onNotice() {} })
      const runs = []
      let failure
      for (let n = 0; n < 160 && failure === undefined; n += 1) {
        await store.run('r' + n).then((run) => runs.push(run), (error) => { failure = error })
      }
      if (failure === undefined) throw new Error('no limit was met')
      await runs.pop().close()
      await runs.pop().close()
      await runs.pop().close()
      const run = await store.run('later')
      await run.append('note', 1)
      await run.close()
      console.log(JSON.stringify({ code: failure.code, message: failure.message, opened: runs.length }))
      await store.close()
    `
    const script = join(temporaryDir(), 'program.mjs')
    writeFileSync(script, program)
    const result = spawnSync(
      'sh',
      ['-c', `ulimit -n 128; exec "${process.execPath}" "${script}"`],
      {
        encoding: 'utf8',
      },
    )
    expect(result.stderr).toBe('')
    const said = JSON.parse(result.stdout)
    expect(said.code).toMatch(/^(?:WRITE_FAILED|READ_FAILED)$/)
    expect(said.message).toMatch(/EMFILE.*ulimit -n/)
    expect(said.opened).toBeGreaterThan(2)
  })
})

describe('a writer that is paused while another takes over', () => {
  it('T10: is never acknowledged when it wakes, and its bytes are reported as stray', async () => {
    const dir = join(temporaryDir(), 'store')
    const script = join(temporaryDir(), 'writer.mjs')
    writeFileSync(
      script,
      `
      import { openStore } from ${JSON.stringify(INDEX)}
      const store = await openStore(${JSON.stringify(dir)}, { onNotice() {} })
      const run = await store.run('r')
      console.log('open')
      process.stdin.on('data', async (line) => {
        try {
          const { seq } = await run.append('note', String(line).trim())
          console.log('acknowledged ' + seq)
        } catch (error) {
          console.log('refused ' + error.code)
        }
      })
    `,
    )
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => {
      child.kill('SIGKILL')
    })
    const lines: string[] = []
    const waiting: ((line: string) => void)[] = []
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.trim().split('\n')) (waiting.shift() ?? lines.push.bind(lines))(line)
    })
    const nextLine = (): Promise<string> =>
      new Promise((resolve) => {
        const line = lines.shift()
        if (line === undefined) waiting.push(resolve)
        else resolve(line)
      })
    expect(await nextLine()).toBe('open')
    child.stdin.write('first\n')
    expect(await nextLine()).toBe('acknowledged 1')

    child.kill('SIGSTOP')
    const store = await openStore(dir, { onNotice: () => {} })
    await expect(store.openRun('r')).rejects.toMatchObject({
      code: 'RUN_LOCKED',
      data: { pid: child.pid },
    })
    const run = await store.openRun('r', { force: true })
    const { seq } = await run.append('note', 'from the new one')
    child.kill('SIGCONT')
    child.stdin.write('from the old one\n')
    expect(await nextLine()).toBe('refused WRITER_FENCED')
    await run.append('note', 'and on')
    await run.close()

    const notes: unknown[] = []
    for await (const event of (await store.inspectRun('r')).events({ types: ['note'] }))
      notes.push(event.data)
    expect(notes).toEqual(['first', 'from the new one', 'and on'])
    expect(seq).toBe(3)
    const [report] = (await store.verify('r')).runs
    expect(report).toMatchObject({ ok: true, incomplete: [] })
    expect(report?.stray).toHaveLength(1)
    expect(report?.stray[0]?.bytes).toBe(
      statSync(logPath(dir, 'r', 0)).size - (report?.stray[0]?.offset ?? 0),
    )
    expect(readFileSync(logPath(dir, 'r', 0), 'utf8')).toMatch(/from the old one/)
    await store.close()
  })
})
