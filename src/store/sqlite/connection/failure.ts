import { type ErrorCode, PunctualError } from '../../../errors.ts'

// Primary result codes of SQLite.
const busy = [5, 15]
const away = [3, 8, 10, 13, 14]
const broken = [11, 26]

/** Whether another connection was in the way: trying again will do. */
export function isBusy(error: unknown): boolean {
  return busy.includes(primaryCode(error))
}

/** The store's error for one of SQLite. Errors that are not the file's stay as they are. */
export function storeFailure(error: unknown, path: string): unknown {
  const primary = primaryCode(error)
  if (away.includes(primary))
    return typed(
      'store.unreachable',
      `${path} cannot be read or written: ${(error as Error).message}. Check that it is a file in a writable folder with space left`,
      error,
      path,
    )
  if (broken.includes(primary))
    return typed(
      'store.corrupt',
      `${path} is not a SQLite database or is damaged: ${(error as Error).message}. Restore it from a backup`,
      error,
      path,
    )
  return error
}

function typed(code: ErrorCode, message: string, cause: unknown, path: string): PunctualError {
  return new PunctualError(code, message, { path }, { cause })
}

/** SQLite's result code without its refinement, or 0. */
function primaryCode(error: unknown): number {
  const { errcode } = (error ?? {}) as { errcode?: number }
  return typeof errcode === 'number' ? errcode & 0xff : 0
}
