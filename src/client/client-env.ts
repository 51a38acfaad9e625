import type { Env } from '../engine/env.ts'

/** The part of the environment that the client shares with the node. The store opens on first use. */
export type ClientEnv = Pick<
  Env,
  | 'clock'
  | 'randomBytes'
  | 'store'
  | 'events'
  | 'log'
  | 'registry'
  | 'time'
  | 'joinedClaims'
  | 'declared'
  | 'unopposedSince'
  | 'parts'
  | 'work'
  | 'trace'
  | 'options'
>
