import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Punctual } from '../client/punctual.ts'
import { PunctualError } from '../errors.ts'
import { type AnyDefinition, Definition } from '../model/definition.ts'

/** The exports of a jobs file: every definition, and a function to call once the scheduler runs. */
export interface JobsFile {
  readonly definitions: readonly AnyDefinition[]
  readonly setup: ((punctual: Punctual) => unknown) | undefined
}

/** Loads a module. Its exported definitions are the jobs; a function `setup` prepares what they need; other exports are left alone. */
export async function loadJobsFile(path: string): Promise<JobsFile> {
  const { setup, ...exports } = await importFile(path)
  if (setup !== undefined && typeof setup !== 'function') throw invalid(path, 'its export setup must be a function')
  const definitions = new Set(
    Object.entries(exports)
      .filter(([name, value]) => isDefinition(path, name, value))
      .map(([, value]) => value),
  )
  if (definitions.size === 0) throw invalid(path, 'it exports no job; export what defineJob returns')
  return { definitions: [...definitions] as AnyDefinition[], setup: setup as JobsFile['setup'] }
}

async function importFile(path: string): Promise<Record<string, unknown>> {
  const file = resolve(path)
  if (!existsSync(file)) throw invalid(path, 'there is no such file')
  try {
    return { ...((await import(pathToFileURL(file).href)) as Record<string, unknown>) }
  } catch (error) {
    throw invalid(path, error instanceof Error ? error.message + place(error, file) + moduleAdvice(error) : String(error), error)
  }
}

/** A package whose type is not "module" reads `.ts` and `.js` as CommonJS. */
function moduleAdvice({ name, message }: Error): string {
  const isCommonJs =
    name === 'SyntaxError' && /^(Cannot use import statement outside a module|Unexpected token 'export')/.test(message)
  return isCommonJs ? '; set "type": "module" in the package.json next to it, or name it .mts or .mjs' : ''
}

/** Where in the file it was thrown, if the stack knows. */
function place({ stack = '' }: Error, file: string): string {
  const at = stack.indexOf(pathToFileURL(file).href)
  const [position] = at < 0 ? [] : (/:\d+:\d+/.exec(stack.slice(at)) ?? [])
  return position === undefined ? '' : ` (at ${position.slice(1)})`
}

/** Other exports are not for us. */
function isDefinition(path: string, name: string, value: unknown): boolean {
  if (value instanceof Definition) return true
  if (looksLikeDefinition(value)) {
    throw invalid(
      path,
      `its export ${name} was made by another copy of punctual than the one that runs; install the package once, where the file finds it`,
    )
  }
  return false
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
