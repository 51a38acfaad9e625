import type { Ability } from '../../store/abilities.ts'
import type { Scene } from './scene.ts'

/** A case before it knows which store it will run on. */
export interface Draft {
  readonly topic: string
  readonly title: string
  readonly needs: Ability | null
  readonly run: (scene: Scene) => Promise<void>
}

/** The cases of one topic, by their titles; `needs` names the ability without which they mean nothing. */
export function topic(
  name: string,
  cases: Readonly<Record<string, (scene: Scene) => Promise<void>>>,
  needs: Ability | null = null,
): readonly Draft[] {
  return Object.entries(cases).map(([title, run]) => ({ topic: name, title, needs, run }))
}
