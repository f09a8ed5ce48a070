import { useEffect, useState } from 'react'
import type { ConnectionState } from '../state/server-api.ts'
import { useApi } from '../state/use-api.ts'

export function useConnection(): ConnectionState {
  const api = useApi()
  const [state, setState] = useState<ConnectionState>('connecting')
  useEffect(() => api.watchConnection(setState), [api])
  return state
}
