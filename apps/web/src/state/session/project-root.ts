import { createContext, use } from 'react'

/** Where the session in view works: paths inside it are shown without it. */
export const ProjectRootContext = createContext('')

export function useProjectRoot(): string {
  return use(ProjectRootContext)
}
