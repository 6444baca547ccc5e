/** Sets an own field; plain assignment to `__proto__` would set the prototype. */
export function setField(out: object, key: string, value: unknown): void {
  if (key !== '__proto__') (out as Record<string, unknown>)[key] = value
  else {
    const property = { value, enumerable: true, writable: true, configurable: true }
    Object.defineProperty(out, key, property)
  }
}
