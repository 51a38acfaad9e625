import { signal } from '@preact/signals'
import type { OperationName, WireServer, WireSession } from '../../../src/http/wire.ts'
import { api } from './api.ts'
import { queries } from './query.ts'
import { clockOffset, needsLogin, RequestError } from './request.ts'

/** The caller, as the server knows it; null before the server has answered, or while it wants a login. */
export const session = signal<WireSession | null>(null)
export const server = signal<WireServer | null>(null)
/** The tenant that lists are kept to; empty for all. */
export const tenant = signal('')

/** Whether the session may call this operation: what it may not do is not shown. */
export function may(name: OperationName): boolean {
  return session.value?.may.includes(name) ?? false
}

export async function openSession(): Promise<void> {
  try {
    session.value = await api.session()
    needsLogin.value = false
    await readServer()
  } catch (error) {
    if (!(error instanceof RequestError && error.status === 401)) throw error
  }
}

export async function readServer(): Promise<void> {
  const found = await api.server()
  clockOffset.value = Date.parse(found.now) - Date.now()
  server.value = found
}

export async function closeSession(): Promise<void> {
  await api.logout()
  session.value = null
  queries.clear()
  await openSession()
}
