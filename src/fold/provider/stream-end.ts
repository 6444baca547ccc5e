/**
 * What the ends of all streams have in common: what nobody knew is kept, and a cut is a cut.
 */
import type { Part } from '../../core/content.js'
import type { AssistantMessage } from '../../core/event-map.js'
import { contentOf, partsOf } from './neutral.js'
import { fieldsOf, given, isFields, textOf, wordOf } from './shape.js'

/** What came beside the message: events that are not known, and errors. */
export class StreamRemainder {
  readonly parts: Part[] = []
  /** What the provider calls the error that ended the stream. */
  error: string | undefined

  /** Keep an event that is not known. */
  keep(event: unknown): readonly unknown[] {
    this.parts.push({ type: 'other', value: event })
    return [event]
  }

  /** Keep an error that came inside the stream. */
  fail(event: unknown): readonly unknown[] {
    const fields = fieldsOf(event)
    const error = isFields(fields.error) ? fields.error : fields
    const named = wordOf(error.type) ?? wordOf(error.code) ?? wordOf(error.status)
    this.error = named ?? textOf(error.message) ?? 'error'
    return this.keep(event)
  }

  /** `message` with what was kept, interrupted unless `ended`. */
  close(message: AssistantMessage, ended: boolean): AssistantMessage {
    const { interrupted, ...rest } = message
    const cut = !ended || this.error !== undefined || interrupted === true
    return {
      ...rest,
      content:
        this.parts.length === 0
          ? message.content
          : contentOf([...partsOf(message.content), ...this.parts]),
      ...given('stopReason', this.error ?? message.stopReason),
      ...(cut ? { interrupted: true } : {}),
    }
  }
}
