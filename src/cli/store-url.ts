import { existsSync } from 'node:fs'
import { PunctualError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { shownPostgresUrl, splitPostgresUrl } from './postgres-url.ts'

const allowed = 'postgres://user@host/database, sqlite:./file.db and memory:'

/** The store that a URL names. */
export async function openStoreUrl(url: string): Promise<Store> {
  const { scheme, rest } = split(url)
  if (scheme === 'postgres') return openPostgres(rest)
  return scheme === 'memory' ? (await import('../store/memory/index.ts')).memory() : openSqlite(rest)
}

/** The store that a URL names, for a command that works on what other processes keep there. It makes nothing that is not there. */
export async function openSharedStoreUrl(url: string): Promise<Store> {
  const { scheme, rest } = split(url)
  if (scheme === 'postgres') return openPostgres(rest, { createTables: false })
  if (scheme === 'memory') {
    throw invalid('memory: lives and ends with its process, so that no other command can reach it; use sqlite:./file.db', scheme)
  }
  return openSqlite(existing(rest))
}

/** The file of a SQLite store, which must be there; null for other stores. */
export function sqlitePathOf(url: string): string | null {
  const { scheme, rest } = split(url)
  return scheme === 'sqlite' ? existing(rest) : null
}

function existing(path: string): string {
  if (existsSync(path)) return path
  throw invalid(`There is no file ${path}; punctual serve --store sqlite:${path} makes it`, 'sqlite')
}

/** A store URL as it may be shown. */
export function shownStoreUrl(url: string): string {
  const { scheme, rest } = split(url)
  return scheme === 'postgres' ? shownPostgresUrl(rest) : url
}

/** The part of the package that knows PostgreSQL, and what a URL says to it. */
export async function postgresOf(url: string) {
  const { scheme, rest } = split(url)
  if (scheme !== 'postgres') return null
  return { ...(await loadPostgres()), ...splitPostgresUrl(rest) }
}

async function openSqlite(path: string): Promise<Store> {
  return (await import('../store/sqlite/index.ts')).sqlite(path)
}

async function openPostgres(rest: string, defaults: { createTables?: boolean } = {}): Promise<Store> {
  const { url, options } = splitPostgresUrl(rest)
  const { postgres } = await loadPostgres()
  return postgres(url, { ...defaults, ...options })
}

/** Its driver is for those to install who use it. */
async function loadPostgres() {
  try {
    return await import('../store/postgres/index.ts')
  } catch (cause) {
    if (!/Cannot find package 'pg'/.test(String(cause))) throw cause
    const message = 'A postgres:// store needs the package pg, which is not installed; run: npm install pg'
    throw new PunctualError('config.invalid', message, { field: 'store', scheme: 'postgres', package: 'pg' }, { cause })
  }
}

function split(url: string): { scheme: 'memory' | 'sqlite' | 'postgres'; rest: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url) ?? []
  if (scheme === 'memory' && rest === '') return { scheme, rest }
  if (scheme === 'sqlite' && rest !== '') return { scheme, rest: checkSqlitePath(rest) }
  if ((scheme === 'postgres' || scheme === 'postgresql') && rest.startsWith('//')) return { scheme: 'postgres', rest: url }
  // Only the scheme is repeated: what follows may hold a password.
  const given = scheme === '' ? 'a text without a scheme' : `one of ${JSON.stringify(scheme)}`
  throw invalid(`The store URL must be one of ${allowed}; got ${given}`, scheme)
}

/** A path as the system has it, without a host and without parameters. */
function checkSqlitePath(rest: string): string {
  // The message does not repeat the URL: it may hold a password before an @.
  if (rest.startsWith('//'))
    throw invalid(
      'A SQLite store has a path and no host: write sqlite:./file.db, or sqlite:/var/lib/app/file.db, without //. Allowed are ' +
        allowed,
      'sqlite',
    )
  const [, parameters] = /\?([^/]*)$/.exec(rest) ?? []
  if (parameters === undefined) return rest
  const names = [...new URLSearchParams(parameters).keys()]
  throw invalid(`A sqlite: store URL takes no parameters; got ${names.join(', ')}`, 'sqlite')
}

function invalid(message: string, scheme: string): PunctualError {
  return new PunctualError('config.invalid', message, { field: 'store', scheme, allowed })
}
