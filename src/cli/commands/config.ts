import { type Command, Option } from 'commander'
import type { Config } from '../config/config.ts'
import { type Setting, settingsOf } from '../config/setting.ts'
import { example, jsonOption } from '../options.ts'
import { print, printJson, table } from '../print.ts'

/** Settings whose values are not shown. */
const secrets = ['token', 'webhookSecret']

export function addConfig(root: Command, config: () => Config): void {
  const group = root.command('config').description('Show the settings that commands use.')
  const command = group
    .command('print')
    .description('Print the settings of this folder and environment. Passwords and tokens are left out.')
    .addOption(new Option('--origin', 'also where each value comes from'))
    .addOption(jsonOption())
    .addHelpText('after', example('punctual config print --origin'))
    .action(({ origin, json }: { origin?: true; json?: true }) => {
      const rows = settingsOf(root).map((setting) => row(setting, config()))
      if (json) return printJson(Object.fromEntries(rows.map(({ name, ...rest }) => [name, origin ? rest : rest.value])))
      const titles = ['SETTING', 'VALUE', ...(origin ? ['ORIGIN'] : [])]
      print(
        table(
          titles,
          rows.map((one) => [one.name, String(one.value ?? ''), ...(origin ? [one.origin] : [])]),
        ),
      )
    })
  group.addHelpText('after', example(`punctual config ${command.name()}`))
}

interface Row {
  readonly name: string
  readonly value: unknown
  readonly origin: string
}

function row({ name, variable, options }: Setting, { path, values }: Config): Row {
  const given = process.env[variable]
  if (given !== undefined && given !== '') return { name, value: shown(name, given), origin: variable }
  if (name in values) return { name, value: shown(name, values[name]), origin: path ?? '' }
  const value = options.find(({ defaultValue }) => defaultValue !== undefined)?.defaultValue ?? null
  return { name, value, origin: value === null ? 'not set' : 'default' }
}

/** A URL without its password, and no token. */
function shown(name: string, value: unknown): unknown {
  if (secrets.includes(name)) return 'hidden'
  if (typeof value !== 'string') return value
  return value.replace(/\/\/([^/@:]*):[^@]*@/, '//$1@').replace(/([?&]password=)[^&]*/g, '$1…')
}
