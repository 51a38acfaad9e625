import { createRequire } from 'node:module'

/** The version of this package, as nodes report it. */
export const version: string = (createRequire(import.meta.url)('../../../package.json') as { version: string }).version
