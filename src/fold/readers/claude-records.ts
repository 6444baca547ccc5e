/**
 * What single records of Claude Code say beside messages: titles and errors.
 */
import { isObject, type Json, textOf } from './claude-content.js'

export function errorText(error: unknown): string {
  if (typeof error === 'string') return error
  if (!isObject(error)) return 'unknown'
  const inner = isObject(error.error) ? error.error : error
  return (
    textOf(inner.message) ?? textOf(inner.type) ?? `status ${String(error.status ?? 'unknown')}`
  )
}

/** Titles that people gave win over those that were made up. */
export function titleOf(record: Json, isTitled: boolean): { readonly title?: string } {
  const own = record.type === 'custom-title' ? (record.customTitle ?? record.title) : undefined
  if (typeof own === 'string') return { title: own }
  if (isTitled) return {}
  const made =
    record.type === 'summary'
      ? record.summary
      : record.type === 'ai-title'
        ? (record.aiTitle ?? record.title)
        : undefined
  return typeof made === 'string' ? { title: made } : {}
}
