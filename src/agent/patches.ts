/**
 * Members of objects replaced for a while, and put back exactly as they were.
 * What somebody else has put over one meanwhile stays: ours underneath passes everything on.
 */

// biome-ignore lint/suspicious/noExplicitAny: any function may be wrapped.
type Callable = (this: any, ...args: any[]) => any

interface Patch {
  readonly target: object
  readonly name: PropertyKey
  readonly value: unknown
  /** What was there before; undefined where it was inherited. */
  readonly before: PropertyDescriptor | undefined
}

export class Patches {
  readonly #patches: Patch[] = []

  /** Replace a function by one that has its name, its length and its other members. */
  wrap(target: object, name: string, wrapper: (original: Callable) => Callable): void {
    const original = (target as Readonly<Record<string, unknown>>)[name]
    if (typeof original !== 'function') return
    const wrapped = wrapper(original as Callable)
    const { prototype: _, ...members } = Object.getOwnPropertyDescriptors(original)
    for (const member of Reflect.ownKeys(members)) {
      const own = Object.getOwnPropertyDescriptor(original, member) as PropertyDescriptor
      Reflect.defineProperty(wrapped, member, own)
    }
    this.replace(target, name, wrapped)
  }

  /** Replace any member; one that cannot be replaced is left. */
  replace(target: object, name: PropertyKey, value: unknown): void {
    const before = Object.getOwnPropertyDescriptor(target, name)
    if (before !== undefined && !before.configurable && before.writable !== true) return
    const fresh = { value, writable: true, enumerable: before?.enumerable ?? false }
    // Of a member that is not configurable, only the value may change.
    Object.defineProperty(target, name, {
      ...fresh,
      configurable: before?.configurable ?? true,
    })
    this.#patches.push({ target, name, value, before })
  }

  /** Put back what was there, the last first. */
  remove(): void {
    for (const { target, name, value, before } of this.#patches.reverse()) {
      const now = Object.getOwnPropertyDescriptor(target, name)
      if (now === undefined || now.value !== value) continue
      if (before === undefined) Reflect.deleteProperty(target, name)
      else Object.defineProperty(target, name, before)
    }
    this.#patches.length = 0
  }
}
