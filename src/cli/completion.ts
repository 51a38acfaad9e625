// Scripts for shells, made from the commands: they list words and flags, and need no process for each key.
import type { Command } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const

interface Place {
  /** The words that lead to the command, such as `jobs update`. */
  readonly words: string
  readonly commands: readonly { readonly name: string; readonly about: string }[]
  readonly flags: readonly { readonly long: string; readonly about: string; readonly choices: readonly string[] }[]
}

export function completionScript(root: Command, shell: (typeof shells)[number]): string {
  const places = placesOf(root, '')
  if (shell === 'bash') return bash(places)
  return shell === 'zsh' ? zsh(places) : fish(places)
}

function placesOf(command: Command, words: string): readonly Place[] {
  const commands = command.commands.map((one) => ({ name: one.name(), about: firstSentence(one.description()) }))
  const fallback = command.commands.find((one) => one.name() === 'list')
  const own = [...command.options, ...(fallback?.options ?? [])]
  const flags = own.flatMap(({ long, description, argChoices }) =>
    long ? [{ long, about: firstSentence(description), choices: argChoices ?? [] }] : [],
  )
  const here = { words, commands, flags: [...flags, { long: '--help', about: 'show help', choices: [] }] }
  return [here, ...command.commands.flatMap((one) => placesOf(one, `${words} ${one.name()}`.trim()))]
}

function firstSentence(text: string): string {
  return text.split(/[.;:]( |$)/, 1)[0] ?? ''
}

function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ words, commands, flags }) =>
      `    '${words}') names='${[...commands.map(({ name }) => name), ...flags.map(({ long }) => long)].join(' ')}' ;;`,
  )
  const choices = choiceCases(places).map(([key, values]) => `    '${key}') names='${values.join(' ')}' ;;`)
  return `# bash completion of punctual
_punctual() {
  local word place='' names='' current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local places='|${places.map(({ words }) => words).join('|')}|'
  # A word that leads to no command is an argument, or the value of a flag.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$places" in *"|\${place:+$place }$word|"*) place="\${place:+$place }$word" ;; esac
  done
  case "$place" in
${cases.join('\n')}
  esac
  case "$place $before" in
${choices.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$names" -- "$current"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _punctual punctual`
}

function choiceCases(places: readonly Place[]): readonly (readonly [string, readonly string[]])[] {
  return places.flatMap(({ words, flags }) =>
    flags.filter(({ choices }) => choices.length > 0).map(({ long, choices }) => [`${words} ${long}`, choices] as const),
  )
}

function zsh(places: readonly Place[]): string {
  const cases = places.map(({ words, commands, flags }) => {
    const lines = [
      ...commands.map(({ name, about }) => quoted(`${name}:${about}`)),
      ...flags.map(({ long, about }) => quoted(`${long}:${about}`)),
    ]
    return `    '${words}') names=(${lines.join(' ')}) ;;`
  })
  const choices = choiceCases(places).map(([key, values]) => `    '${key}') names=(${values.join(' ')}) ;;`)
  const all = places.map(({ words }) => `'${words}'`)
  return `#compdef punctual
_punctual() {
  local word place='' before="\${words[CURRENT-1]}"
  local -a names places
  places=(${all.join(' ')})
  # A word that leads to no command is an argument, or the value of a flag.
  for word in "\${(@)words[2,CURRENT-1]}"; do
    (( \${places[(Ie)\${place:+$place }$word]} )) && place="\${place:+$place }$word"
  done
  case "$place" in
${cases.join('\n')}
  esac
  case "$place $before" in
${choices.join('\n')}
  esac
  _describe 'punctual' names || _files
}
# As a file of $fpath it is called at once, by its first use; otherwise it is sourced.
if [[ "\${funcstack[1]}" == _punctual ]]; then _punctual "$@"; else compdef _punctual punctual; fi`

  function quoted(text: string): string {
    return `'${text.replaceAll("'", "'\\''")}'`
  }
}

function fish(places: readonly Place[]): string {
  const all = places.map(({ words }) => `'${words}'`)
  const lines = places.flatMap(({ words, commands, flags }) => {
    const at = `complete -c punctual -n '__punctual_at "${words}"'`
    return [
      ...commands.map(({ name, about }) => `${at} -f -a ${name} -d ${quoted(about)}`),
      ...flags.map(({ long, about, choices }) => {
        const values = choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : ''
        return `${at} -l ${long.slice(2)}${values} -d ${quoted(about)}`
      }),
    ]
  })
  return `# fish completion of punctual
function __punctual_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    # A word that leads to no command is an argument, or the value of a flag.
    set -l next (string trim -- "$place $word")
    contains -- "$next" ${all.join(' ')}; and set place $next
  end
  test "$place" = "$argv[1]"
end
complete -c punctual -e
${lines.join('\n')}`

  function quoted(text: string): string {
    return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  }
}
