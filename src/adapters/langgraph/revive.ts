/**
 * What `plain.ts` wrote, live again: the same classes, each value the caller's alone. Nothing is
 * constructed but what stands in the lists there.
 */

import { ERROR_CLASSES } from '../../core/error-revive.js'
import { DaglogError } from '../../core/errors.js'
import { setField } from '../../core/set-field.js'
import { type AllowedClasses, deltaOf, messageClass } from './classes.js'
import { VIEWS } from './plain.js'
import { MARK } from './stored-values.js'

const MARK_TEXT = `"${MARK}"`

/**
 * The value of a JSON text that `textOf` wrote.
 * @throws VALUE_UNSUPPORTED where a class is not here
 */
export function valueOfText(text: string, classes: AllowedClasses): unknown {
  const plain: unknown = JSON.parse(text)
  // Most values have nothing that JSON cannot say.
  return text.includes(MARK_TEXT) ? new Reviver(classes).of(plain) : plain
}

/** The live value of a plain one, which is taken over. @throws VALUE_UNSUPPORTED */
export function liveOf(plain: unknown, classes: AllowedClasses): unknown {
  return new Reviver(classes).of(plain)
}

type Payload = readonly unknown[]

class Reviver {
  constructor(readonly classes: AllowedClasses) {}

  of(plain: unknown): unknown {
    if (typeof plain !== 'object' || plain === null) return plain
    if (Array.isArray(plain)) return this.#list(plain)
    const mark = (plain as Readonly<Record<string, unknown>>)[MARK]
    if (mark !== undefined && Object.hasOwn(plain, MARK)) return this.#marked(mark)
    for (const key of Object.keys(plain)) this.#member(plain as Record<string, unknown>, key)
    return plain
  }

  #member(owner: Record<string, unknown>, key: string): void {
    const member = owner[key]
    if (typeof member !== 'object' || member === null) return
    const live = this.of(Object.hasOwn(owner, key) ? member : undefined)
    if (live !== member) setField(owner, key, live)
  }

  #list(list: unknown[]): unknown[] {
    for (let i = 0; i < list.length; i += 1) {
      const member = list[i]
      if (typeof member !== 'object' || member === null) continue
      if (isHole(member)) delete list[i]
      else list[i] = this.of(member)
    }
    return list
  }

  #marked(mark: unknown): unknown {
    const [tag, ...payload] = Array.isArray(mark) ? mark : []
    const revive = typeof tag === 'string' ? REVIVERS.get(tag) : undefined
    if (revive === undefined) throw unknown(`"${String(tag)}"`)
    return revive(payload, this)
  }
}

type Revive = (payload: Payload, reviver: Reviver) => unknown

const REVIVERS: ReadonlyMap<string, Revive> = new Map<string, Revive>([
  ['undefined', () => undefined],
  ['number', ([text]) => Number(text)],
  ['bigint', ([text]) => BigInt(text as string)],
  ['date', ([time]) => new Date(time === null ? Number.NaN : (time as number))],
  ['object', ([entries], reviver) => fromEntries({}, entries, reviver)],
  ['bare', ([fields], reviver) => fields && bare(reviver.of(fields) as object)],
  ['map', ([entries], reviver) => new Map(reviver.of(entries) as [unknown, unknown][])],
  ['set', ([members], reviver) => new Set(reviver.of(members) as unknown[])],
  ['regexp', ([source, flags, at]) => regExp(source as string, flags as string, at as number)],
  ['buffer', ([text]) => Buffer.from(text as string, 'base64')],
  ['arraybuffer', ([text]) => bytesOf(text).buffer],
  ['view', ([name, text]) => viewOf(name as string, bytesOf(text))],
  ['url', ([href]) => new URL(href as string)],
  ['error', errorOf],
  ['delta', ([value], reviver) => deltaOf(reviver.of(value))],
  ['message', messageOf],
  ['class', instanceOf],
])

function isHole(member: object): boolean {
  const mark = (member as Readonly<Record<string, unknown>>)[MARK]
  return Array.isArray(mark) && mark.length === 1 && mark[0] === 'hole'
}

function fromEntries(out: object, entries: unknown, reviver: Reviver): object {
  for (const [key, value] of entries as [string, unknown][]) setField(out, key, reviver.of(value))
  return out
}

function bare(fields: object): object {
  const out: object = Object.create(null)
  for (const key of Object.keys(fields)) {
    const value = (fields as Readonly<Record<string, unknown>>)[key]
    setField(out, key, value)
  }
  return out
}

function regExp(source: string, flags: string, at: number): RegExp {
  const live = new RegExp(source, flags)
  live.lastIndex = at
  return live
}

/** In memory of its own, and not in Node's shared pool. */
function bytesOf(text: unknown): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text as string, 'base64'))
}

function viewOf(name: string, bytes: Uint8Array<ArrayBuffer>): unknown {
  if (name === 'DataView') return new DataView(bytes.buffer)
  if (!Object.hasOwn(VIEWS, name)) throw unknown(name)
  return new VIEWS[name as keyof typeof VIEWS](bytes.buffer)
}

function errorOf([type, name, own]: Payload, reviver: Reviver): Error {
  const make = Object.hasOwn(ERROR_CLASSES, type as string) ? ERROR_CLASSES[type as string]! : Error
  const error = new make()
  const hidden = { enumerable: false, writable: true, configurable: true }
  delete error.stack
  for (const [key, value] of Object.entries(own as object)) {
    const isHidden = HIDDEN_OF_ERROR.has(key)
    const property = { ...hidden, enumerable: !isHidden, value: reviver.of(value) }
    Object.defineProperty(error, key, property)
  }
  if (error.name !== name) Object.defineProperty(error, 'name', { ...hidden, value: name })
  return error
}

const HIDDEN_OF_ERROR: ReadonlySet<string> = new Set(['message', 'stack', 'cause', 'errors'])

function messageOf([name, given, own]: Payload, reviver: Reviver): object {
  const known = messageClass(name as string)
  if (known === undefined) throw unknown(`message class ${String(name)}`)
  const message = new known.make(reviver.of(given))
  if (own !== undefined) {
    for (const [key, value] of Object.entries(reviver.of(own) as object)) {
      setField(message, key, value)
    }
  }
  return message
}

function instanceOf([name, fields]: Payload, reviver: Reviver): object {
  const known = reviver.classes.get(name as string)
  if (known === undefined) {
    throw new DaglogError(
      'VALUE_UNSUPPORTED',
      `a stored value is an instance of ${String(name)}, which is not among the classes allowed here; try: new DaglogSaver(store, { classes: [${String(name)}] })`,
      { class: name },
    )
  }
  const out: object = Object.create(known.prototype)
  for (const [key, value] of Object.entries(reviver.of(fields) as object)) setField(out, key, value)
  return out
}

function unknown(what: string): DaglogError {
  return new DaglogError(
    'VALUE_UNSUPPORTED',
    `a stored value is ${what}, which this version does not know; try: the version of daglog or @langchain/core that wrote it`,
  )
}
