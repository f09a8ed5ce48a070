import { type ComponentType, lazy, useState } from 'react'

export interface Late<P> {
  (props: P): React.ReactNode
  /** Fetches the code before it is needed. */
  preload(): Promise<unknown>
}

/**
 * A component whose code comes when it is first needed. Once it is there it is drawn at once: `lazy` would still wait for a
 * promise, and React then holds back what it waited for by a third of a second.
 */
export function late<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): Late<P> {
  let loaded: ComponentType<P> | undefined
  const preload = async () => {
    const module = await load()
    loaded = module.default
    return module
  }
  const Waiting: ComponentType<P> = lazy(preload)
  function Drawn(props: P) {
    // The same one for as long as it is drawn: another would lose what was typed into it.
    const [Part] = useState<ComponentType<P>>(() => loaded ?? Waiting)
    return <Part {...props} />
  }
  return Object.assign(Drawn, { preload })
}
