import { existsSync } from 'node:fs'
import { PunctualError } from '../errors.ts'
import { memory } from '../store/memory/index.ts'
import { sqlite } from '../store/sqlite/index.ts'
import type { Store } from '../store/store.ts'

const allowed = 'sqlite:./file.db and memory:'

/** The store that a URL names. */
export function openStoreUrl(url: string): Store {
  const { scheme, rest } = split(url)
  return scheme === 'memory' ? memory() : sqlite(rest)
}

/** The store that a URL names, for a command that works on what other processes keep there. */
export function openSharedStoreUrl(url: string): Store {
  const { scheme, rest } = split(url)
  if (scheme === 'memory') {
    throw invalid('memory: lives and ends with its process, so that no other command can reach it; use sqlite:./file.db', scheme)
  }
  if (!existsSync(rest)) throw invalid(`There is no file ${rest}; punctual serve --store sqlite:${rest} makes it`, scheme)
  return sqlite(rest)
}

function split(url: string): { scheme: 'memory' | 'sqlite'; rest: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url) ?? []
  if (scheme === 'memory' && rest === '') return { scheme, rest }
  if (scheme === 'sqlite' && rest !== '' && !rest.startsWith('//')) return { scheme, rest }
  // Only the scheme is repeated: what follows may hold a password.
  const given = scheme === '' ? 'a text without a scheme' : `one of ${JSON.stringify(scheme)}`
  throw invalid(`The store URL must be one of ${allowed}; got ${given}`, scheme)
}

function invalid(message: string, scheme: string): PunctualError {
  return new PunctualError('config.invalid', message, { field: 'store', scheme, allowed })
}
