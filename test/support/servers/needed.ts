import process from 'node:process'
import { findChromium, findNats, findPgbouncer, findPostgres, findPromtool, findRabbitmq } from './programs.ts'

/** A server that tests use, and the three ways to give it to them. */
export interface NeededServer {
  readonly name: string
  /** The environment variable that names a server which runs already. */
  readonly variable: string
  /** The Debian package that brings its programs. */
  readonly package: string
  /** Where its programs are on this machine, if they are. */
  readonly find: () => string | null
}

export const postgres: NeededServer = {
  name: 'PostgreSQL',
  variable: 'PUNCTUAL_TEST_POSTGRES',
  package: 'postgresql',
  find: findPostgres,
}

/** It runs in front of a PostgreSQL: a person who names one by URL need not install it. */
export const pgbouncer: NeededServer = {
  name: 'pgbouncer',
  variable: 'PUNCTUAL_TEST_POSTGRES',
  package: 'pgbouncer',
  find: findPgbouncer,
}

/** The browser of the tests of the dashboard. The variable names its program. */
export const chromium: NeededServer = {
  name: 'Chromium',
  variable: 'PUNCTUAL_TEST_CHROMIUM',
  package: 'chromium',
  find: findChromium,
}

export const nats: NeededServer = {
  name: 'NATS',
  variable: 'PUNCTUAL_TEST_NATS',
  package: 'nats-server',
  find: findNats,
}

export const rabbitmq: NeededServer = {
  name: 'RabbitMQ',
  variable: 'PUNCTUAL_TEST_RABBITMQ',
  package: 'rabbitmq-server',
  find: findRabbitmq,
}

/** Checks metrics and rules. The variable names its program. */
export const promtool: NeededServer = {
  name: 'promtool',
  variable: 'PUNCTUAL_TEST_PROMTOOL',
  package: 'prometheus',
  find: findPromtool,
}

export const neededServers: readonly NeededServer[] = [postgres, pgbouncer, nats, rabbitmq, chromium, promtool]

/** The place of its programs, which must be there. */
export function programsOf(server: NeededServer): string {
  const found = server.find()
  if (found === null) throw new Error(howToGive([server]))
  return found
}

/**
 * Whether tests that start a separate server are skipped: with the URL of a running server you need not have its
 * programs too. Without either, such tests fail and say what is missing.
 */
export function isLeftOut({ variable, find }: NeededServer): boolean {
  return Boolean(process.env[variable]) && find() === null
}

/** A sentence about how to get missing servers. */
export function howToGive(missing: readonly NeededServer[]): string {
  const names = missing.map((server) => server.name).join(' and ')
  const variables = [...new Set(missing.map((server) => server.variable))].join(' and ')
  return `The tests need ${names}, which this machine does not have. Either set ${variables} to the URL of a server (tests that must start one of their own are skipped then), or install ${names} so that its programs are on the PATH, or run npm test as root on Debian or Ubuntu with a network, where it installs them itself.`
}
