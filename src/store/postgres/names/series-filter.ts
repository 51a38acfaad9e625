/** Which jobs a reader asks for. */
export interface Asked {
  readonly tenant?: string | undefined
  readonly job?: string | undefined
}

/** A condition on the series `s` and its values, of which the first is number `first` of its statement. */
export function askedSeries({ tenant, job }: Asked, first = 1): { readonly where: string; readonly values: readonly string[] } {
  const given = [
    { name: 's.tenant', value: tenant },
    { name: 's.job', value: job },
  ].flatMap(({ name, value }) => (value === undefined ? [] : { name, value }))
  return {
    where: given.map(({ name }, index) => `${name} = $${first + index}`).join(' AND ') || 'true',
    values: given.map(({ value }) => value),
  }
}
