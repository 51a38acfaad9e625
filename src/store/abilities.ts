/** Abilities beyond the core of the contract. A store declares those it has. */
export const abilities = {
  tx: 'the writes of a handler commit together with the success of its task',
  join: "create and cancel take part in the caller's transaction",
  durable: 'acknowledged writes survive the end of the process',
  'many-processes': 'several processes share the work',
} as const

export type Ability = keyof typeof abilities
