/** The test files of a bundle, each of which runs when it is loaded. The bundler puts them here. */
export const LISTED: Readonly<Record<string, () => Promise<unknown>>> = {}
