/** What a store can do beyond the contract's core; declared by name, so that nothing is guessed. */
export const abilities = {
  tx: 'writes of a handler commit together with the success of its task',
  join: "work is created and canceled in a transaction of the caller's",
  durable: 'what was acknowledged survives the end of the process',
  'many-processes': 'several processes share the work',
} as const

export type Ability = keyof typeof abilities
