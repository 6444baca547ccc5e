/**
 * A backend that lives in the process and dies with it: for tests, and for agents that want the API
 * without a directory.
 * It promises no durability (`can.durable` is false) and nothing across processes.
 */
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'
import type {
  Abilities,
  Backend,
  Holder,
  LogName,
  LogWriter,
  RunDraft,
  RunPlace,
  Segment,
  WriterOptions,
} from './backend.js'
import { checkRunId } from './run-path.js'

interface MemoryLog {
  readonly segments: GrowingBytes[]
  writer: MemoryWriter | undefined
}

/** Bytes that grow at the end, at amortised cost. */
class GrowingBytes {
  private room = Buffer.alloc(0)
  length = 0

  append(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.room.length) {
      const room = Buffer.alloc(Math.max(1024, (this.length + bytes.length) * 2))
      this.room.copy(room, 0, 0, this.length)
      this.room = room
    }
    this.room.set(bytes, this.length)
    this.length += bytes.length
  }

  /** A copy, so that a reader keeps what it read. */
  slice(from: number, to: number): Buffer {
    return Buffer.from(this.room.subarray(from, Math.min(to, this.length)))
  }
}

/** A fresh, empty store in memory. */
export function memory(): Backend {
  return new MemoryBackend()
}

class MemoryBackend implements Backend {
  readonly can: Abilities = { multiProcess: false, durable: false, tears: false, seals: false }
  readonly place = 'memory'
  private manifest: Uint8Array | undefined
  private readonly storeLog: MemoryLog = { segments: [new GrowingBytes()], writer: undefined }
  private readonly runs = new Map<string, MemoryLog>()
  private readonly objects = new Map<Hash, StoredObject>()
  private readonly cache = new Map<string, Uint8Array>()
  /** Who keeps all writers of runs out. */
  private excluder: string | undefined

  async readManifest(): Promise<Uint8Array | undefined> {
    return this.manifest
  }

  async createManifest(bytes: Uint8Array): Promise<boolean> {
    if (this.manifest !== undefined) return false
    this.manifest = Buffer.from(bytes)
    return true
  }

  async listRuns(): Promise<readonly RunPlace[]> {
    return Array.from(this.runs.keys(), (id) => ({ id, place: id }))
  }

  async placeOf(id: string): Promise<string> {
    return id
  }

  async createRun(id: string): Promise<boolean> {
    checkRunId(id)
    if (this.runs.has(id)) return false
    this.runs.set(id, { segments: [new GrowingBytes()], writer: undefined })
    return true
  }

  /** Nothing outlives the process here, and nobody else looks. */
  async draftRun(id: string): Promise<RunDraft | undefined> {
    if (!(await this.createRun(id))) return undefined
    return { publish: async () => true, discard: () => this.removeRun(id) }
  }

  async hasRun(id: string): Promise<boolean> {
    checkRunId(id)
    return this.runs.has(id)
  }

  async removeRun(id: string): Promise<void> {
    this.runs.delete(id)
  }

  private log(name: LogName): MemoryLog {
    const log = name === 'store' ? this.storeLog : this.runs.get(name.run)
    if (log === undefined)
      throw new DaglogError('RUN_NOT_FOUND', `no run ${JSON.stringify(name)} in memory`)
    return log
  }

  async segments(name: LogName): Promise<readonly Segment[]> {
    if (name !== 'store' && !this.runs.has(name.run)) return []
    return this.log(name).segments.map((bytes, number) => ({
      number,
      bytes: bytes.length,
      durable: 0,
    }))
  }

  async logBytes(name: LogName): Promise<number> {
    return (await this.segments(name)).reduce((sum, { bytes }) => sum + bytes, 0)
  }

  async read(name: LogName, segment: number, fromByte: number, length: number): Promise<Buffer> {
    return this.log(name).segments[segment]?.slice(fromByte, fromByte + length) ?? Buffer.alloc(0)
  }

  async faults(): Promise<readonly string[]> {
    return []
  }

  async openWriter(name: LogName, options: WriterOptions): Promise<LogWriter> {
    const log = this.log(name)
    if (name !== 'store' && this.excluder !== undefined) throw this.excluded('RUN_LOCKED')
    if (log.writer !== undefined && options.force !== true) {
      const code = name === 'store' ? 'STORE_LOCKED' : 'RUN_LOCKED'
      const { pid, host, program } = log.writer.holder
      throw new DaglogError(
        code,
        `already being written in this process (${program}); try: close it there`,
        {
          pid,
          host,
          program,
          alive: true,
        },
      )
    }
    const taken = log.writer !== undefined
    if (taken) log.segments.push(new GrowingBytes())
    log.writer = new MemoryWriter(log, taken ? 'taken' : 'clean', options.program)
    return log.writer
  }

  async holder(name: LogName): Promise<(Holder & { readonly alive: boolean }) | undefined> {
    const writer = this.log(name).writer
    return writer === undefined ? undefined : { ...writer.holder, alive: true }
  }

  async keepTorn(): Promise<void> {
    // Nothing tears in memory.
  }

  async putObjects(_run: string, objects: readonly StoredObject[]): Promise<void> {
    for (const object of objects) {
      if (!this.objects.has(object.hash))
        this.objects.set(object.hash, { ...object, bytes: Buffer.from(object.bytes) })
    }
  }

  async getObject(hash: Hash): Promise<Uint8Array | undefined> {
    const object = this.objects.get(hash)
    return object && Buffer.from(object.bytes)
  }

  getObjectNow(hash: Hash): Uint8Array | undefined {
    return this.objects.get(hash)?.bytes
  }

  async hasObject(hash: Hash): Promise<boolean> {
    return this.objects.has(hash)
  }

  async sealObjects(): Promise<void> {
    // One map serves all runs already.
  }

  async exclude(program: string): Promise<() => Promise<void>> {
    if (this.excluder !== undefined) throw this.excluded('STORE_LOCKED')
    for (const [run, { writer }] of this.runs) {
      if (writer === undefined) continue
      const what = `run ${run} is open in this process (${writer.holder.program}); try: close it`
      throw new DaglogError('STORE_LOCKED', what, { run, ...writer.holder, alive: true })
    }
    this.excluder = program
    return async () => {
      this.excluder = undefined
    }
  }

  private excluded(code: 'RUN_LOCKED' | 'STORE_LOCKED'): DaglogError {
    const what = `the store is being collected in this process (${this.excluder})`
    return new DaglogError(code, `${what}; try: again when it is done`, {
      pid: process.pid,
      program: this.excluder,
    })
  }

  async sweepObjects(
    isLive: (hash: Hash) => boolean,
    { dryRun }: { readonly dryRun: boolean },
  ): Promise<{ live: number; dead: number; deadBytes: number; freedBytes: number }> {
    const dead = [...this.objects.values()].filter(({ hash }) => !isLive(hash))
    const deadBytes = dead.reduce((sum, { bytes }) => sum + bytes.length, 0)
    if (!dryRun) for (const { hash } of dead) this.objects.delete(hash)
    return {
      live: this.objects.size - (dryRun ? dead.length : 0),
      dead: dead.length,
      deadBytes,
      freedBytes: dryRun ? 0 : deadBytes,
    }
  }

  async objectBytes(): Promise<number> {
    let bytes = 0
    for (const object of this.objects.values()) bytes += object.bytes.length
    return bytes
  }

  async *listObjects(): AsyncIterable<{ hash: Hash; kind: StoredObject['kind']; bytes: number }> {
    for (const { hash, kind, bytes } of this.objects.values())
      yield { hash, kind, bytes: bytes.length }
  }

  async readCache(key: string): Promise<Uint8Array | undefined> {
    const bytes = this.cache.get(key)
    return bytes && Buffer.from(bytes)
  }

  async writeCache(key: string, bytes: Uint8Array): Promise<void> {
    this.cache.set(key, Buffer.from(bytes))
  }

  async close(): Promise<void> {
    // Nothing is held.
  }
}

class MemoryWriter implements LogWriter {
  readonly segment: number
  readonly holder: Holder

  constructor(
    private readonly log: MemoryLog,
    readonly opened: 'clean' | 'taken',
    program: string,
  ) {
    this.segment = log.segments.length - 1
    this.holder = { pid: process.pid, host: 'memory', program }
  }

  async commit(bytes: Uint8Array): Promise<void> {
    if (this.log.writer !== this) throw fenced()
    this.log.segments[this.segment]?.append(bytes)
  }

  async settle(): Promise<void> {
    // Nothing here outlives the process.
  }

  async cut(bytes: number): Promise<void> {
    if (this.log.writer !== this) throw fenced()
    const segment = this.log.segments[this.segment]
    if (segment !== undefined) segment.length = bytes
  }

  readonly textBytes = 0

  async rest(): Promise<void> {
    // Memory has no room to save that would outlive the process.
  }

  async release(): Promise<void> {
    if (this.log.writer === this) this.log.writer = undefined
  }
}

function fenced(): DaglogError {
  return new DaglogError(
    'WRITER_FENCED',
    'another writer has taken over in this process; try: open the run again',
  )
}
