// Settings from the environment and from punctual.config.ts. Flags win over variables, variables over the file, the file over defaults.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Command, InvalidArgumentError, type Option } from 'commander'
import { PunctualError } from '../../errors.ts'
import { parsedValue, type Setting, settingsOf } from './setting.ts'
import { didYouMean } from './suggestion.ts'

const fileNames = ['punctual.config.ts', 'punctual.config.mts', 'punctual.config.js', 'punctual.config.mjs']
/** Variables that are no settings: the file itself, and those of our tests. */
const otherVariables = /^PUNCTUAL_(CONFIG$|TEST_)/
/** Kubernetes gives these to every pod beside a service called punctual. */
const serviceLink = /^PUNCTUAL_(SERVICE_(HOST|PORT)|PORT_\d+_TCP)/

/** The configuration file of this run, and its values by name. */
export interface Config {
  readonly path: string | null
  readonly values: Readonly<Record<string, unknown>>
}

/** Reads the file, refuses names that no setting has, and makes its values the defaults of the options. */
export async function applyConfig(root: Command, given: string | undefined): Promise<Config> {
  const settings = settingsOf(root)
  checkVariables(settings)
  const path = configPath(given)
  const values = path === null ? {} : await readFile(path)
  for (const [name, value] of Object.entries(values)) applyValue(settings, path as string, name, value)
  return { path, values }
}

function checkVariables(settings: readonly Setting[]): void {
  const known = settings.map(({ variable }) => variable)
  // The address that Kubernetes makes of a service, where a port is meant.
  if (process.env.PUNCTUAL_PORT?.startsWith('tcp://')) delete process.env.PUNCTUAL_PORT
  for (const name of Object.keys(process.env)) {
    if (!name.startsWith('PUNCTUAL_') || known.includes(name)) continue
    if (otherVariables.test(name) || serviceLink.test(name)) continue
    throw invalid(`There is no setting ${name} in the environment.${didYouMean(name, known)} Known are ${known.join(', ')}`, name)
  }
}

function configPath(given: string | undefined): string | null {
  const named = given ?? process.env.PUNCTUAL_CONFIG
  if (named === undefined || named === '') return fileNames.find((name) => existsSync(name)) ?? null
  if (existsSync(named)) return named
  throw invalid(`There is no configuration file ${named}`, 'config')
}

async function readFile(path: string): Promise<Record<string, unknown>> {
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>
  } catch (cause) {
    throw new PunctualError('config.invalid', `Cannot read ${path}: ${(cause as Error).message}`, { field: 'config' }, { cause })
  }
  const { default: values } = module
  if (typeof values === 'object' && values !== null && !Array.isArray(values)) return { ...values }
  throw invalid(
    `${path} must export an object as its default, such as export default { store: 'sqlite:./punctual.db' }`,
    'config',
  )
}

function applyValue(settings: readonly Setting[], path: string, name: string, value: unknown): void {
  const names = settings.map((setting) => setting.name)
  const setting = settings.find((one) => one.name === name)
  if (!setting) throw invalid(`${path} has no setting ${name}.${didYouMean(name, names)} Known are ${names.join(', ')}`, name)
  if (!['string', 'number', 'boolean'].includes(typeof value)) throw invalid(`${path}: ${name} must be a text or a number`, name)
  try {
    const parsed = parsedValue(setting, String(value))
    setting.commands.forEach((command, at) => {
      command.setOptionValueWithSource((setting.options[at] as Option).attributeName(), parsed, 'config')
    })
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    throw invalid(`${path}: ${name}: ${error.message}`, name)
  }
}

function invalid(message: string, field: string): PunctualError {
  return new PunctualError('config.invalid', message, { field })
}
