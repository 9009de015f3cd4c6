// Some systems name a language that no standard knows, and the plotting library trusts the name.
try { new Intl.NumberFormat(navigator.language); } catch (e) { Object.defineProperty(navigator, 'language', { value: 'en' }); }
