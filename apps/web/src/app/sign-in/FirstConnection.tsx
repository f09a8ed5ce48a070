import { useEffect, useState } from 'react'
import type { ServerApi } from '../../state/server/server-api.ts'
import { App } from '../App.tsx'
import { ServerDown } from './ServerDown.tsx'

/** The app, unless the server cannot be reached even once: an empty dashboard would say that there is nothing. */
export function FirstConnection({ api }: { api: ServerApi }) {
  const [reach, setReach] = useState<'trying' | 'failed' | 'reached'>('trying')
  useEffect(
    () =>
      api.watchConnection(state => {
        if (state === 'connected') setReach('reached')
        else if (state === 'offline') setReach(now => (now === 'trying' ? 'failed' : now))
      }),
    [api],
  )
  return reach === 'failed' ? <ServerDown /> : <App api={api} />
}
