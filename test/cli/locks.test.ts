import { describe, expect, it } from 'vitest'
import { temporaryStore } from '../store/temporary.js'
import { daglog, json, say, workplace } from './command.js'

describe('many processes on one run', () => {
  it('take turns and make one chain', async () => {
    const { cwd } = await workplace((store) => store.createRun({ id: 'r' }))
    const names = Array.from({ length: 8 }, (_, at) => `part-${at}`)
    const ids = await Promise.all(
      names.map((name) => say(['step', 'r', name, '--wait', '60000'], { cwd })),
    )
    expect([...ids].sort()).toEqual(names.map((_, at) => `n${at + 1}`))
    const { code, doc } = await json(['verify', 'r'], { cwd })
    expect(code).toBe(0)
    expect(doc).toMatchObject({ runs: [{ ok: true, level: 'head-log', events: 17, stray: [] }] })
    const { doc: read } = await json(['events', 'r'], { cwd })
    const events = read.events as unknown as { type: string; data: { id: string } }[]
    // Start and end of a step are one append: nobody comes between them.
    for (let at = 1; at < events.length; at += 2)
      expect(events[at]?.data.id).toBe(events[at + 1]?.data.id)
    expect(events.some(({ type }) => type === 'writer/open')).toBe(false)
  })
})

describe('a run that another process writes to', () => {
  it('is refused with exit 7, naming who holds it, and can be taken over', async () => {
    const { cwd, dir } = await workplace((store) => store.createRun({ id: 'r' }))
    const { store } = await temporaryStore(dir)
    const holder = await store.openRun('r')
    await holder.append('note', { text: 'mine' })
    const { code, out, err } = await daglog(['step', 'r', 'x', '--wait', '50'], { cwd })
    expect([code, out]).toEqual([7, ''])
    expect(err).toMatch(/^RUN_LOCKED: .*\ncause: .*\ntry: .*\n$/)
    expect(err).toContain(String(process.pid))
    expect((await say(['doctor'], { cwd })).includes(`pid ${process.pid}`)).toBe(true)
    expect(await say(['show', 'r'], { cwd })).toContain('mine')

    expect(await say(['step', 'r', 'x', '--takeover', '--wait', '50'], { cwd })).toBe('n1')
    await expect(holder.append('note', { text: 'too late' })).rejects.toMatchObject({
      code: 'WRITER_FENCED',
    })
    await store.close().catch(() => {})
    const { doc } = await json(['verify', 'r'], { cwd })
    expect(doc).toMatchObject({ ok: true, runs: [{ ok: true }] })
  })
})
