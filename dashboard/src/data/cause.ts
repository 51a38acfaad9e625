/** The cause of dead letters in words. Work that the gate holds needs a person's answer, so it is named by its effect. */
export function causeText({ label, code }: { readonly label: string; readonly code: string | null }): string {
  const [, key] = (code === 'gate.held' && /effect with key "([^"]*)"/.exec(label)) || []
  return key === undefined ? label : `Nobody knows whether “${key}” happened`
}
