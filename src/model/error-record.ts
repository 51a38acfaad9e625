import { limits } from './limits.ts'
import type { ErrorRecord } from './report.ts'

/** What is kept of anything thrown: bounded text, never the object. */
export function errorRecord(thrown: unknown): ErrorRecord {
  if (!(thrown instanceof Error)) return { message: clip(typeof thrown === 'string' ? thrown : inspect(thrown)) }
  const { code } = thrown as { code?: unknown }
  return {
    message: clip(thrown.message),
    ...(thrown.name !== 'Error' && { name: clip(String(thrown.name), 100) }),
    ...(typeof code === 'string' && { code: clip(code, 100) }),
    ...(thrown.stack !== undefined && { stack: clip(thrown.stack) }),
  }
}

function inspect(thrown: unknown): string {
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return String(thrown)
  }
}

function clip(text: string, max: number = limits.errorText): string {
  return text.toWellFormed().replaceAll('\u0000', '').slice(0, max)
}
