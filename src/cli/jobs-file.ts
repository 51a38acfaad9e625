import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Punctual } from '../client/punctual.ts'
import { PunctualError } from '../errors.ts'
import { type AnyDefinition, Definition } from '../model/definition.ts'

/** What a jobs file gives: every exported definition, and what to do once the scheduler runs. */
export interface JobsFile {
  readonly definitions: readonly AnyDefinition[]
  readonly setup: ((punctual: Punctual) => unknown) | undefined
}

/** Loads a module whose exports are definitions and, where there is something to prepare, a function `setup`. */
export async function loadJobsFile(path: string): Promise<JobsFile> {
  const { setup, ...exports } = await importFile(path)
  if (setup !== undefined && typeof setup !== 'function') throw invalid(path, 'its export setup must be a function')
  const definitions = new Set(Object.entries(exports).map(([name, value]) => checkDefinition(path, name, value)))
  if (definitions.size === 0) throw invalid(path, 'it exports no job; export what defineJob returns')
  return { definitions: [...definitions], setup: setup as JobsFile['setup'] }
}

async function importFile(path: string): Promise<Record<string, unknown>> {
  const file = resolve(path)
  if (!existsSync(file)) throw invalid(path, 'there is no such file')
  try {
    return { ...((await import(pathToFileURL(file).href)) as Record<string, unknown>) }
  } catch (error) {
    throw invalid(path, error instanceof Error ? error.message + place(error, file) : String(error), error)
  }
}

/** Where in the file it was thrown, if the stack knows. */
function place({ stack = '' }: Error, file: string): string {
  const at = stack.indexOf(pathToFileURL(file).href)
  const [position] = at < 0 ? [] : (/:\d+:\d+/.exec(stack.slice(at)) ?? [])
  return position === undefined ? '' : ` (at ${position.slice(1)})`
}

function checkDefinition(path: string, name: string, value: unknown): AnyDefinition {
  if (value instanceof Definition) return value
  if (looksLikeDefinition(value)) {
    throw invalid(
      path,
      `its export ${name} was made by another copy of punctual than the one that runs; install the package once, where the file finds it`,
    )
  }
  throw invalid(path, `its export ${name} is no job; a jobs file exports only what defineJob returns, and setup`)
}

function looksLikeDefinition(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    value.constructor?.name === 'Definition' &&
    'tasks' in value &&
    'options' in value
  )
}

function invalid(path: string, reason: string, cause?: unknown): PunctualError {
  return new PunctualError('config.invalid', `Cannot use the jobs file ${path}: ${reason}`, { field: 'jobs', path }, { cause })
}
