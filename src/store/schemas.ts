/**
 * Checks of users' events by Standard Schema, when they are appended; never when they are read.
 */
import { DaglogError } from '../core/errors.js'

/**
 * The part of Standard Schema (standardschema.dev, version 1) that we use: any of its validators
 * fits.
 */
export interface StandardSchema {
  readonly '~standard': {
    readonly validate: (value: unknown) => SchemaResult | Promise<SchemaResult>
  }
}

interface SchemaResult {
  readonly issues?: readonly { readonly message: string }[] | undefined
}

/** @throws EVENT_INVALID */
export function checkSchema(schema: StandardSchema, type: string, data: unknown): void {
  const result = schema['~standard'].validate(data)
  if (result instanceof Promise) {
    throw new DaglogError(
      'EVENT_INVALID',
      `the schema of "${type}" is asynchronous; try: a synchronous one`,
      { type },
    )
  }
  if (result.issues === undefined) return
  const issues = result.issues.map((issue) => issue.message)
  throw new DaglogError(
    'EVENT_INVALID',
    `data of "${type}" does not fit its schema: ${issues.join('; ')}`,
    { type, issues },
  )
}
