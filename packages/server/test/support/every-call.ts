import type { RouteKind } from '../../src/guard/guard.ts'
import type { Route } from '../../src/http/routes.ts'
import { appRouter } from '../../src/trpc/router.ts'

export interface EveryCall {
  method: string
  path: string
  kind: RouteKind
}

interface Procedure {
  _def: { type: 'query' | 'mutation' | 'subscription' }
}

export const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, Procedure>)

/** Everything that can be asked for, one request each. A route that is added is in it; one that cannot be is an error. */
export function everyCall(routes: readonly Pick<Route, 'method' | 'path' | 'kind'>[]): EveryCall[] {
  const named = routes.filter(({ path }) => path !== '/trpc/*')
  const uncovered = named.find(({ path }) => path.includes('*'))
  if (uncovered) throw new Error(`Say here what stands for the * of ${uncovered.path}`)
  return [
    ...named.map(({ method, path, kind }) => ({
      method,
      kind,
      path: path.replace(/:\w+/g, 'no-such-thing'),
    })),
    ...procedures.flatMap(([name, { _def }]) =>
      (_def.type === 'mutation' ? ['POST'] : ['GET', 'POST']).map(method => ({
        ...{ method, path: `/trpc/${name}`, kind: 'call' as const },
      })),
    ),
    // What is not there, and what is there with another method: nobody learns of it from outside.
    ...['/api', '/api/nothing', '/trpc', '/trpc/nothing'].map(path => ({
      ...{ method: 'GET', path, kind: 'call' as const },
    })),
    { method: 'DELETE', path: '/prompt', kind: 'call' },
    // Files of the dashboard.
    ...['/', '/s/some-session', '/assets/no-such-file.js'].map(path => ({
      ...{ method: 'GET', path, kind: 'page' as const },
    })),
  ]
}
