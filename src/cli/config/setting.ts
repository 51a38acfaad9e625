// The settings of the command line: the options that the environment may give too. The options themselves are the schema of all sources.
import type { Command, Option } from 'commander'

/** A name in the configuration file, its variable, and the options of commands that take it. */
export interface Setting {
  readonly name: string
  readonly variable: string
  readonly options: readonly Option[]
  readonly commands: readonly Command[]
}

export function settingsOf(root: Command): readonly Setting[] {
  const found = new Map<string, { name: string; variable: string; options: Option[]; commands: Command[] }>()
  const visit = (command: Command): void => {
    for (const option of command.options) {
      const variable = option.envVar
      if (variable === undefined) continue
      const known = found.get(variable) ?? { name: settingName(variable), variable, options: [], commands: [] }
      known.options.push(option)
      known.commands.push(command)
      found.set(variable, known)
    }
    for (const child of command.commands) visit(child)
  }
  visit(root)
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name))
}

/** PUNCTUAL_CLAIM_LIMIT is `claimLimit` in the file. */
function settingName(variable: string): string {
  return variable
    .slice('PUNCTUAL_'.length)
    .toLowerCase()
    .replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The value of a text, checked as the option checks its flag. */
export function parsedValue({ options: [option] }: Setting, text: string): unknown {
  return option?.parseArg ? option.parseArg(text, undefined as never) : text
}
