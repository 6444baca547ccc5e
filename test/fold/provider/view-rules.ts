/** What a provider refuses, written down apart from the code that avoids it. */
export type Loose = Record<string, unknown>

/** Everything wrong with a view, in words; empty where a provider would take it. */
export function faultsOf(provider: string, messages: readonly unknown[]): string[] {
  const faults = brokenText(messages)
  if (provider === 'anthropic') return [...faults, ...anthropicFaults(messages as Loose[])]
  if (provider === 'openai') return [...faults, ...chatFaults(messages as Loose[])]
  return [...faults, ...responsesFaults(messages as Loose[])]
}

function brokenText(messages: readonly unknown[]): string[] {
  const faults: string[] = []
  JSON.stringify(messages, (key, value: unknown) => {
    if (!key.isWellFormed()) faults.push('lone surrogate in a key')
    if (typeof value === 'string' && !value.isWellFormed()) faults.push('lone surrogate')
    return value
  })
  return faults
}

function chatFaults(messages: readonly Loose[]): string[] {
  const faults: string[] = []
  let waiting: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      const at = waiting.indexOf(String(message.tool_call_id))
      if (at < 0) faults.push(`result without call ${message.tool_call_id}`)
      else waiting.splice(at, 1)
      continue
    }
    if (waiting.length > 0) faults.push(`calls without result: ${waiting}`)
    waiting = []
    if (!['user', 'assistant', 'system'].includes(String(message.role))) faults.push('role')
    if (message.role !== 'assistant') continue
    const calls = (message.tool_calls ?? []) as Loose[]
    if ((message.content ?? '') === '' && calls.length === 0) faults.push('empty assistant')
    waiting = calls.map(({ id }) => String(id ?? ''))
  }
  return waiting.length > 0 ? [...faults, `calls without result at the end: ${waiting}`] : faults
}

function responsesFaults(items: readonly Loose[]): string[] {
  const faults: string[] = []
  const waiting: string[] = []
  for (const [index, item] of items.entries()) {
    if (item.type === 'function_call') waiting.push(String(item.call_id))
    if (item.type === 'function_call_output') {
      const at = waiting.indexOf(String(item.call_id))
      if (at < 0) faults.push(`result without call ${item.call_id}`)
      else waiting.splice(at, 1)
    }
    if (item.type !== 'reasoning') continue
    const next = items[index + 1]
    const led = next !== undefined && next.type !== 'function_call_output' && next.role !== 'user'
    if (!led) faults.push('reasoning without the item it led to')
  }
  return waiting.length > 0 ? [...faults, `calls without result: ${waiting}`] : faults
}

function anthropicFaults(messages: readonly Loose[]): string[] {
  const faults: string[] = []
  const ids = new Set<string>()
  let waiting: string[] = []
  let before: unknown
  for (const { role, content } of messages) {
    if (role === before) faults.push(`two messages of the ${role}`)
    before = role
    const blocks =
      typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Loose[])
    if (blocks.length === 0) faults.push('empty message')
    const results = blocks.filter(({ type }) => type === 'tool_result') as Loose[]
    const answered = results.map(({ tool_use_id }) => String(tool_use_id))
    if (answered.toSorted().join() !== waiting.toSorted().join()) {
      faults.push(`asked ${waiting}, answered ${answered}`)
    }
    if (results.some((block, index) => blocks[index] !== block)) faults.push('results not first')
    waiting = []
    for (const block of blocks as Loose[]) {
      if (block.type === 'text' && String(block.text).trim() === '') faults.push('blank text')
      if (block.type === 'thinking' && !block.signature) faults.push('unsigned thinking')
      if (block.type !== 'tool_use') continue
      const id = String(block.id)
      if (!/^[a-zA-Z0-9_-]+$/.test(id)) faults.push(`id ${id}`)
      if (ids.has(id)) faults.push(`id twice: ${id}`)
      ids.add(id)
      waiting.push(id)
    }
  }
  return waiting.length > 0 ? [...faults, `asked ${waiting}, answered nothing`] : faults
}
