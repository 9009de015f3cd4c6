// kernbench as a library of a Gradle project: gradle run
plugins { application }

repositories {
    mavenLocal() // or the folder of a release, as a repository
    mavenCentral()
}

dependencies { implementation("org.kernbench:kernbench:0.2.0") }

java { toolchain { languageVersion = JavaLanguageVersion.of(25) } }

sourceSets { main { java { setSrcDirs(listOf(".")) } } }

application { mainClass = "library.HowLong" }
