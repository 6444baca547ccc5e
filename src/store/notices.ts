/**
 * What went wrong without making anything fail: told, never swallowed.
 */

export interface Notice {
  readonly about: 'cache' | 'objects' | 'heads' | 'recovery' | 'gap' | 'traffic'
  readonly message: string
  readonly cause?: unknown
}

export class Notices {
  constructor(private readonly listener: (notice: Notice) => void) {}

  report(about: Notice['about'], message: string, cause?: unknown): void {
    this.listener({ about, message, ...(cause === undefined ? {} : { cause }) })
  }
}

/** Where nobody listens, a notice is a Node process warning. */
export function warnOnNotice(notice: Notice): void {
  const cause = notice.cause instanceof Error ? ` (${notice.cause.message})` : ''
  process.emitWarning(`${notice.message}${cause}`, {
    type: 'DaglogNotice',
    code: `DAGLOG_${notice.about.toUpperCase()}`,
  })
}
