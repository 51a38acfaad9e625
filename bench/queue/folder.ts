import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A file in an empty folder; TMPDIR chooses the disk. */
export async function makeFile(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'punctual-bench-')), 'queue.db')
}

export async function removeFile(file: string): Promise<void> {
  await rm(dirname(file), { recursive: true, force: true })
}
