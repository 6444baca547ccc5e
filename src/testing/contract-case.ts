/**
 * How a contract's tests are run: over a fresh store each, with whatever test runner the caller
 * has.
 * Knows runners and stores only; what must hold is in the other `contract-*.ts` files.
 */
import { strict as assert } from 'node:assert'
import type { Backend, LogName, LogWriter } from '../backend/backend.js'
import { DaglogError, type ErrorCode } from '../core/errors.js'
import { sha256 } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'

/** A place for one store, and nothing in it yet. */
export interface ContractStore {
  readonly backend: Backend
  /**
   * The same place as another process sees it, while `backend` is still in use. Needed where
   * `can.multiProcess`; left out elsewhere.
   */
  readonly reopen?: () => Promise<Backend>
  /** Called when the test is done, after the backends were closed. */
  readonly close?: () => Promise<void>
}

/** Of vitest, node:test, mocha, jest: whichever runs the suite. */
export interface ContractOptions {
  /** A fresh place each time it is called. */
  readonly open: () => Promise<ContractStore>
  readonly describe: (name: string, body: () => void) => unknown
  readonly it: (name: string, body: () => Promise<void>) => unknown
}

/** What a test is given: a store that was created, and others' views of it. */
export interface ContractSubject {
  readonly backend: Backend
  /** The same store as another process sees it; undefined where there are no others. */
  readonly other: Backend | undefined
}

export type ContractTest = (name: string, use: (subject: ContractSubject) => Promise<void>) => void

/** Defines tests, each over a store of its own that is there already. */
export function contractTests({ open, it }: ContractOptions): ContractTest {
  return (name, use) => {
    it(name, async () => {
      const store = await open()
      const { backend } = store
      let other: Backend | undefined
      try {
        await backend.createManifest(Buffer.from('{"contract":true}\n'))
        if (backend.can.multiProcess) {
          assert.ok(
            store.reopen,
            'a store of many processes can be opened by another: pass `reopen`',
          )
          other = await store.reopen()
        }
        await use({ backend, other })
      } finally {
        await other?.close()
        await backend.close()
        await store.close?.()
      }
    })
  }
}

export const PROGRAM = { program: 'contract' }

/** Everyone who sees the store, with the run `r` in it. */
export async function withRun(subject: ContractSubject): Promise<{
  readonly backend: Backend
  readonly other: Backend
}> {
  await subject.backend.createRun('r')
  return { backend: subject.backend, other: subject.other ?? subject.backend }
}

/** A rejection with one of our codes; the message names it first and says what to try. */
export async function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<DaglogError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof DaglogError, `rejects with an error of ours, ${code}; got ${error}`)
  assert.equal(error.code, code)
  assert.ok(error.message.startsWith(`${code}: `))
  return error
}

export function commit(writer: LogWriter, text: string, sync = true): Promise<void> {
  return writer.commit(Buffer.from(text), { sync })
}

/** Everything a log holds, by segment. */
export async function contentOf(backend: Backend, log: LogName): Promise<string[]> {
  const texts: string[] = []
  for (const { number, bytes } of await backend.segments(log)) {
    const content = await backend.read(log, number, 0, bytes)
    assert.equal(content.length, bytes, 'a segment holds as many bytes as it says')
    texts.push(content.toString('latin1'))
  }
  return texts
}

export function blob(text: string | Uint8Array): StoredObject {
  const bytes = Buffer.from(text as string)
  return { hash: sha256(bytes), kind: 'blob', bytes }
}
