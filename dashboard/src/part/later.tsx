import { useSignal } from '@preact/signals'
import type { ComponentType, VNode } from 'preact'
import { useEffect } from 'preact/hooks'

/** A component that is loaded when it is first shown. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): (props: Props) => VNode | null {
  let Loaded: ComponentType<Props> | null = null
  return function Later(props) {
    const isReady = useSignal(Loaded !== null)
    useEffect(() => {
      if (Loaded) return
      void load().then((component) => {
        Loaded = component
        isReady.value = true
      })
    }, [])
    return isReady.value && Loaded ? <Loaded {...props} /> : null
  }
}
