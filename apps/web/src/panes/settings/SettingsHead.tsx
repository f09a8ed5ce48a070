import type { ReactNode } from 'react'

/** The title of a section, one sentence about it, and what can be done for all of it. */
export function SettingsHead({
  title,
  about,
  children,
}: {
  title: string
  about: ReactNode
  children?: ReactNode
}) {
  return (
    <header className="settings__head">
      <div>
        <h1>{title}</h1>
        <p>{about}</p>
      </div>
      {children}
    </header>
  )
}
