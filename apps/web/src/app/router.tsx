import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { HomePage } from '../panes/home/HomePage.tsx'
import { SessionPage } from '../panes/session/SessionPage.tsx'
import { holdKeysForPage } from '../ui/keys/type-ahead.ts'
import { NotFound, PageFault } from './faults.tsx'
import { Shell } from './shell/Shell.tsx'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

/** `at`: the number of the event to show. */
function validateSearch({ at }: Record<string, unknown>): { at?: number } {
  return Number.isSafeInteger(Number(at)) && Number(at) > 0 ? { at: Number(at) } : {}
}

const settings = lazyRouteComponent(() => import('../panes/settings/SettingsPage.tsx'))

const routes = [
  createRoute({ getParentRoute: () => root, path: '/', component: HomePage }),
  createRoute({ getParentRoute: () => root, path: '/p/$project', component: HomePage }),
  createRoute({ getParentRoute: () => root, path: '/s/$sessionId', component: SessionPage, validateSearch }),
  createRoute({
    getParentRoute: () => root,
    path: '/s/$sessionId/t/$turnId',
    component: SessionPage,
    validateSearch,
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/fleet',
    component: lazyRouteComponent(() => import('../panes/fleet/FleetPage.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/usage',
    component: lazyRouteComponent(() => import('../panes/usage/UsagePage.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/loops',
    component: lazyRouteComponent(() => import('../panes/loops/LoopsPage.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/loops/$loopId',
    component: lazyRouteComponent(() => import('../panes/loops/LoopPage.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/schedules',
    component: lazyRouteComponent(() => import('../panes/schedules/SchedulesPage.tsx')),
  }),
  createRoute({ getParentRoute: () => root, path: '/settings', component: settings }),
  createRoute({ getParentRoute: () => root, path: '/settings/$section', component: settings }),
] as const

const routeTree = root.addChildren(routes)
if (import.meta.env.DEV) {
  const component = lazyRouteComponent(() => import('../dev/ComponentsPage.tsx'))
  root.addChildren([
    ...routes,
    createRoute({ getParentRoute: () => root, path: '/dev/components', component }),
  ])
}

export const router = createRouter({
  routeTree,
  defaultPreload: false,
  defaultErrorComponent: PageFault,
})

// Who goes to the start page goes on typing: until its field is there, a letter is no shortcut of the page before.
router.subscribe('onBeforeNavigate', ({ toLocation: { pathname }, pathChanged }) => {
  if (pathname === '/' || pathname.startsWith('/p/')) holdKeysForPage(pathChanged)
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
